import {InvalidOptionError} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';

/** How an answer has to look, which depends on who asks. */
export type ResultFormat =
  /** Function URLs and HTTP APIs: cookies apart, other headers once. */
  | 'v2'
  /** REST APIs, HTTP APIs with the older payload, and load balancers with multi-value headers. */
  | 'multi-value'
  /** Load balancers without them. */
  | 'single-value';

/** What came, as a request on web standards. */
export interface IncomingEvent {
  readonly request: Request;
  readonly format: ResultFormat;
}

type Values = Readonly<Record<string, readonly string[] | undefined>>;

/** The parts of an event, whichever form it has. */
interface Parts {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: Headers;
  readonly format: ResultFormat;
}

/**
 * Reads the event of a function URL, of API Gateway (payload 1.0 and 2.0) or of a load balancer.
 *
 * @throws {@link InvalidOptionError} for any other event
 */
export function readEvent(event: unknown, signal: AbortSignal): IncomingEvent {
  if (!isRecord(event)) throw unknownEvent(event);
  const {method, path, query, headers, format} = partsOf(event);
  const {domainName} = recordOf(event['requestContext']);
  const host = headers.get('host') ?? (typeof domainName === 'string' ? domainName : 'localhost');
  const scheme = headers.get('x-forwarded-proto') === 'http' ? 'http' : 'https';
  const body = method === 'GET' || method === 'HEAD' ? undefined : bodyOf(event);
  const url = `${scheme}://${host}${path}${query && `?${query}`}`;
  return {request: new Request(url, {method, headers, signal, ...(body && {body})}), format};
}

function partsOf(event: Readonly<Record<string, unknown>>): Parts {
  const {http} = recordOf(event['requestContext']);
  if (event['version'] === '2.0' && isRecord(http)) return partsOfV2(event, http);
  if (typeof event['httpMethod'] === 'string' && typeof event['path'] === 'string') {
    return partsOfV1(event, event['httpMethod'], event['path']);
  }
  throw unknownEvent(event);
}

function partsOfV2(event: Readonly<Record<string, unknown>>, http: Readonly<Record<string, unknown>>): Parts {
  const headers = headersOf(valuesOf(event['headers']));
  const cookies = event['cookies'];
  if (Array.isArray(cookies)) headers.set('cookie', cookies.join('; '));
  return {
    method: String(http['method']),
    path: String(event['rawPath'] ?? '/'),
    query: String(event['rawQueryString'] ?? ''),
    headers,
    format: 'v2',
  };
}

function partsOfV1(event: Readonly<Record<string, unknown>>, method: string, path: string): Parts {
  const isLoadBalancer = isRecord(recordOf(event['requestContext'])['elb']);
  const many = isRecord(event['multiValueHeaders']);
  const query = valuesOf(event['multiValueQueryStringParameters'] ?? event['queryStringParameters']);
  const pairs = Object.entries(query).flatMap(([name, values]) => (values ?? []).map((value): [string, string] => [name, value]));
  return {
    method,
    path,
    // A gateway decodes them, a load balancer does not.
    query: isLoadBalancer ? pairs.map((pair) => pair.join('=')).join('&') : new URLSearchParams(pairs).toString(),
    headers: headersOf(valuesOf(event['multiValueHeaders'] ?? event['headers'])),
    format: many || !isLoadBalancer ? 'multi-value' : 'single-value',
  };
}

function bodyOf(event: Readonly<Record<string, unknown>>): Uint8Array<ArrayBuffer> | undefined {
  const {body, isBase64Encoded} = event;
  if (typeof body !== 'string' || body === '') return undefined;
  return Buffer.from(body, isBase64Encoded === true ? 'base64' : 'utf8');
}

function headersOf(values: Values): Headers {
  const headers = new Headers();
  for (const [name, all] of Object.entries(values)) for (const value of all ?? []) headers.append(name, value);
  return headers;
}

/** A record of texts, or of lists of texts, or `null`, as events have them. */
function valuesOf(record: unknown): Values {
  const entries = Object.entries(recordOf(record));
  return Object.fromEntries(entries.map(([name, value]) => [name, Array.isArray(value) ? value.map(String) : [String(value)]]));
}

function recordOf(value: unknown): Readonly<Record<string, unknown>> {
  return isRecord(value) ? value : {};
}

function unknownEvent(event: unknown): InvalidOptionError {
  return new InvalidOptionError('event', 'a request of a function URL, of API Gateway or of a load balancer', event);
}
