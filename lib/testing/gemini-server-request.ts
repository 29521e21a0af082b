import type {IncomingHttpHeaders, IncomingMessage} from 'node:http';
import type {Content, Tool} from '../content.ts';
import type {Closed, Exchange} from './exchange.ts';

/** The body of a request, as it came. */
export interface GeminiRequestBody {
  readonly contents?: readonly Content[];
  readonly systemInstruction?: Content;
  readonly tools?: readonly Tool[];
  readonly generationConfig?: Readonly<Record<string, unknown>>;
  readonly [field: string]: unknown;
}

/** A request that `GeminiServer` got. */
export interface GeminiRequest {
  /** Counts the requests, from 0. */
  readonly index: number;
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  /** `v1`, `v1beta`, `v1beta1` ... */
  readonly apiVersion: string;
  readonly backend: 'gemini' | 'vertex';
  /** For example `gemini-2.5-flash`; `''` where the path names none. */
  readonly model: string;
  /** For example `streamGenerateContent`. */
  readonly action: string;
  /** Whether the action streams. */
  readonly stream: boolean;
  readonly headers: IncomingHttpHeaders;
  /** The parsed body; `{}` where it was not JSON. */
  readonly body: GeminiRequestBody;
  readonly bodyText: string;
  /** On the process's real `performance.now()` scale. */
  readonly receivedAt: number;
  /** Settles when the response is over; `early` if the client closed its side before the server had finished. Never rejects. */
  readonly closed: Promise<Closed>;
  readonly closedEarly: boolean;
  /** How many bytes of the response's body have been written so far. */
  readonly bytesSent: number;
  /** Why the server refused the request; `undefined` if it did not. */
  readonly refusal: string | undefined;
}

/** A request while its answer is prepared. */
export type OpenRequest = {-readonly [K in keyof GeminiRequest]: GeminiRequest[K]};

// `/v1beta/models/m:action`, on Vertex `/v1beta1/projects/p/locations/l/publishers/google/models/m:action`, both behind any prefix.
const address = /^(?:\/.*)?\/(v1(?:alpha|beta1?)?)\/((?:projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/)?models\/([^/:]+):(\w+)$/;

/** What the request line and the body say. */
export function readRequest(incoming: IncomingMessage, exchange: Exchange, bodyText: string): OpenRequest {
  const {pathname, searchParams} = new URL(incoming.url ?? '/', 'http://loopback');
  const [, apiVersion = '', publisher, model = '', action = ''] = address.exec(pathname) ?? [];
  return {
    index: 0,
    method: incoming.method ?? '',
    path: pathname,
    query: searchParams,
    apiVersion,
    backend: publisher === undefined ? 'gemini' : 'vertex',
    model: decodeURIComponent(model),
    action,
    stream: action === 'streamGenerateContent',
    headers: incoming.headers,
    body: parse(bodyText) ?? {},
    bodyText,
    receivedAt: exchange.receivedAt,
    closed: exchange.closed,
    get closedEarly() {
      return exchange.closedEarly;
    },
    get bytesSent() {
      return exchange.bytesSent;
    },
    refusal: undefined,
  };
}

/** Models of the third generation and later give every call an id, and want their thought signatures back. */
export function isGemini3(model: string): boolean {
  return /^gemini-(?:[3-9]|\d\d)/.test(model);
}

function parse(text: string): GeminiRequestBody | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as GeminiRequestBody) : undefined;
  } catch {
    return undefined;
  }
}
