import {describe, messageOf, ModelError} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';

const retryableStatuses = new Set([429, 500, 502, 503, 504]);

/** Google's names for HTTP statuses, for answers that bring none. */
const rpcCodes: Readonly<Record<number, string>> = {
  400: 'INVALID_ARGUMENT',
  401: 'UNAUTHENTICATED',
  403: 'PERMISSION_DENIED',
  404: 'NOT_FOUND',
  408: 'DEADLINE_EXCEEDED',
  409: 'ABORTED',
  413: 'INVALID_ARGUMENT',
  429: 'RESOURCE_EXHAUSTED',
  499: 'CANCELLED',
  500: 'INTERNAL',
  501: 'UNIMPLEMENTED',
  502: 'UNAVAILABLE',
  503: 'UNAVAILABLE',
  504: 'DEADLINE_EXCEEDED',
};

/** What genai, google-auth-library or fetch threw for a request that nobody aborted, as an error that says whether to try again. */
export function failureOf(thrown: unknown): ModelError {
  if (thrown instanceof ModelError) return thrown;
  const status = statusOf(thrown);
  if (status !== undefined) return refusal(status, messageOf(thrown), thrown);
  if (isConnectionLoss(thrown)) return connectionLost(thrown);
  const message = messageOf(thrown);
  // genai's words for a stream that was cut in the middle of an event.
  const cut = message.includes('Incomplete JSON segment');
  if (cut || thrown instanceof SyntaxError || /exception parsing stream chunk|Response body is empty/.test(message))
    return new ModelError(`The server's answer could not be read: ${message}`, {code: 'PROTOCOL_ERROR', retryable: cut, cause: thrown});
  return new ModelError(message, {code: 'REQUEST_FAILED', cause: thrown});
}

/**
 * What an HTTP answer with an error status stands for.
 *
 * @param text - its body, or what genai made of that
 */
export function refusal(status: number, text: string, cause?: unknown): ModelError {
  const body = errorBody(text);
  const named = typeof body.status === 'string' && /^[A-Z][A-Z_]+$/.test(body.status) ? body.status : undefined;
  const details = Array.isArray(body.details) ? body.details.filter(isRecord) : [];
  return new ModelError(readable(body.message, status), {
    code: named ?? rpcCodes[status] ?? `HTTP_${status}`,
    status,
    retryDelayMs: retryDelayOf(details),
    retryable: retryableStatuses.has(status) && !isDailyQuota(details),
    ...(cause !== undefined && {cause}),
  });
}

/** genai has two `ApiError` classes, one for each entry, so the shape decides. google-auth-library's errors have it too. */
function statusOf(thrown: unknown): number | undefined {
  if (typeof thrown !== 'object' || thrown === null || !('status' in thrown)) return undefined;
  return typeof thrown.status === 'number' ? thrown.status : undefined;
}

interface ErrorBody {
  readonly message: string;
  readonly status?: unknown;
  readonly details?: unknown;
}

/**
 * The innermost error body in a message. genai puts the server's JSON into the message, and where the content type was not JSON (Google
 * answers a failed stream with `text/event-stream`) it puts the body as text into a JSON of its own first.
 */
function errorBody(message: string): ErrorBody {
  const parsed = parseFrom(message);
  const holder: unknown = Array.isArray(parsed) ? parsed[0] : parsed;
  if (!isRecord(holder) || !isRecord(holder['error'])) return {message};
  const {message: inner, status, details} = holder['error'];
  if (typeof inner !== 'string') return {message, status, details};
  const nested = errorBody(inner);
  return nested.status === undefined && nested.details === undefined ? {message: nested.message, status, details} : nested;
}

/** The JSON at the end of a text: `got status: UNAVAILABLE. {"error": ...}`. */
function parseFrom(text: string): unknown {
  const start = text.search(/[{[]/);
  if (start < 0) return undefined;
  try {
    return JSON.parse(text.slice(start));
  } catch {
    return undefined;
  }
}

/** The server's own words; of an HTML page only the words. */
function readable(message: string, status: number): string {
  const text = /<html|<!doctype|<body/i.test(message)
    ? message
        .replace(/<(style|script)\b[\s\S]*?<\/\1>/gi, ' ')
        .replace(/<[^>]*>/g, ' ')
        .replace(/\s+/g, ' ')
    : message;
  const words = text.trim();
  if (words === '') return `The server answered ${status} and said nothing`;
  return words === message.trim() ? words : `The server answered ${status} with an HTML page: ${words.slice(0, 300)}`;
}

/** `google.rpc.RetryInfo`: `"retryDelay": "34.4s"`. */
function retryDelayOf(details: readonly Record<string, unknown>[]): number | undefined {
  for (const detail of details) {
    const match = typeof detail['retryDelay'] === 'string' ? /^(\d+(?:\.\d+)?)s$/.exec(detail['retryDelay']) : null;
    if (match !== null) return Math.ceil(Number(match[1]) * 1000);
  }
  return undefined;
}

/** A quota for the whole day does not come back while a run waits. */
function isDailyQuota(details: readonly Record<string, unknown>[]): boolean {
  return details
    .flatMap((detail) => (Array.isArray(detail['violations']) ? (detail['violations'] as unknown[]) : []))
    .some((violation) => isRecord(violation) && /PerDay/i.test(String(violation['quotaId'])));
}

/** What fetch throws in Node, Chrome, Firefox, Safari and Bun when a connection cannot be made or breaks. */
function isConnectionLoss(thrown: unknown): boolean {
  if (!(thrown instanceof Error)) return false;
  return /^(fetch failed|terminated|failed to fetch|network ?error|load failed|unable to connect|the socket connection was closed)/i.test(
    thrown.message,
  );
}

function connectionLost(thrown: unknown): ModelError {
  const cause = thrown instanceof Error ? thrown.cause : undefined;
  const code = isRecord(cause) && typeof cause['code'] === 'string' ? cause['code'] : undefined;
  const why = cause === undefined ? messageOf(thrown) : [code, messageOf(cause) || describe(cause)].filter(Boolean).join(': ');
  return new ModelError(`The connection to the server was lost (${why})`, {code: 'CONNECTION_LOST', retryable: true, cause: thrown});
}
