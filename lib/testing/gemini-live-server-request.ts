import {STATUS_CODES, type IncomingHttpHeaders, type IncomingMessage} from 'node:http';
import type {Duplex} from 'node:stream';
import {errorBody} from './gemini-server-errors.ts';

/** The HTTP request that opens a live connection. */
export interface LiveServerRequest {
  /** As it came, without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingHttpHeaders;
  /** `v1`, `v1beta`, `v1alpha`, `v1beta1` ...; `''` where the path is not one of Google's. */
  readonly apiVersion: string;
  readonly backend: 'gemini' | 'vertex';
  /** Whether it is the method that takes ephemeral tokens. */
  readonly constrained: boolean;
}

/** Why the server did not go on with a client. */
export interface LiveRefusal {
  /** The HTTP status, where the handshake was refused; else the code of the close frame. */
  readonly code: number;
  /** In Google's words, where they are known. What a close frame tells of it ends after 123 bytes. */
  readonly reason: string;
  /** What the reason leaves out. */
  readonly detail?: string | undefined;
}

/** An HTTP answer in place of the WebSocket. */
export interface LiveHandshakeRefusal {
  readonly status: number;
  /** Text as it is, anything else as JSON. Default: Google's error body for the status. */
  readonly body?: unknown;
  /** Added to the usual ones, or put in their place. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
}

const gemini = /^(?:\/.*)?\/ws\/google\.ai\.generativelanguage\.(v1(?:alpha|beta)?)\.GenerativeService\.BidiGenerateContent(Constrained)?$/;
const vertex = /^(?:\/.*)?\/ws\/google\.cloud\.aiplatform\.(v1(?:alpha1?|beta1)?)\.LlmBidiService\/BidiGenerateContent$/;

/** What the request line and the headers say. */
export function readLiveRequest({url = '/', headers}: IncomingMessage): LiveServerRequest {
  // Not through `URL`, which takes what follows two leading slashes for a host; Google's own clients send two.
  const [path = '', query = ''] = url.split('?', 2);
  const [, version, constrained] = gemini.exec(path) ?? [];
  const [, vertexVersion] = vertex.exec(path) ?? [];
  // Ephemeral tokens exist on v1alpha only.
  const apiVersion = constrained && version !== 'v1alpha' ? '' : (version ?? vertexVersion ?? '');
  return {
    path,
    query: new URLSearchParams(query),
    headers,
    apiVersion,
    backend: vertexVersion === undefined ? 'gemini' : 'vertex',
    constrained: constrained !== undefined,
  };
}

/** How a client fails to tell who it is; `undefined` where it is let in. */
export function keyRefusalOf(request: LiveServerRequest, apiKey: string | undefined): 'missing' | 'wrong' | undefined {
  const {query, headers, constrained, backend} = request;
  if (constrained) {
    const token = query.get('access_token') ?? headers.authorization?.replace(/^Token /, '');
    return token === undefined ? 'missing' : token.startsWith('auth_tokens/') ? undefined : 'wrong';
  }
  if (backend === 'vertex' && /^Bearer ./.test(headers.authorization ?? '')) return undefined;
  const key = query.get('key') || headers['x-goog-api-key'];
  if (!key) return 'missing';
  return apiKey === undefined || key === apiKey ? undefined : 'wrong';
}

/** What Google says to a client that it does not know. */
export const keyMessages: Readonly<Record<'missing' | 'wrong', string>> = {
  missing:
    "Method doesn't allow unregistered callers (callers without established identity). " +
    'Please use API Key or other form of API consumer identity to call this API.',
  wrong: 'API key not valid. Please pass a valid API key.',
};

/** Answers the handshake with HTTP, and ends the connection. */
export function refuseHandshake(socket: Duplex, {status, body, headers}: LiveHandshakeRefusal): void {
  const text = typeof body === 'string' ? body : `${JSON.stringify(body ?? errorBody({code: status}), null, 2)}\n`;
  const all = {
    connection: 'close',
    'content-type': text.startsWith('<') ? 'text/html; charset=UTF-8' : 'application/json; charset=UTF-8',
    'content-length': String(Buffer.byteLength(text)),
    ...Object.fromEntries(Object.entries(headers ?? {}).map(([name, value]) => [name.toLowerCase(), value])),
  };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  socket.end(`HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${lines.join('')}\r\n${text}`);
}
