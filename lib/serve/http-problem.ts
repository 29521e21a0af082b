import {InvalidOptionError, ModelError, SluiceError} from '../errors.ts';
import {clientError} from './stream/client-error.ts';

/** A request that is refused: what a body of `application/problem+json` says (RFC 9457). */
export class HttpProblem extends SluiceError {
  readonly code: string;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  /** The field of the request that is at fault, such as `newMessage.parts`. */
  readonly field: string | undefined;

  /** @param detail - for the client: says what was expected and what came */
  constructor(
    status: number,
    code: string,
    detail: string,
    {headers = {}, field}: {readonly headers?: Readonly<Record<string, string>>; readonly field?: string | undefined} = {},
  ) {
    super(detail);
    this.status = status;
    this.code = code;
    this.headers = headers;
    this.field = field;
  }

  /** `error` is what clients of ADK show. */
  toResponse(): Response {
    const {status, code, message: detail, field} = this;
    const body = {
      type: 'about:blank',
      title: TITLES[status] ?? 'Error',
      status,
      detail,
      code,
      ...(field !== undefined && {field}),
      error: detail,
    };
    const headers = {'cache-control': 'no-store', ...this.headers, 'content-type': 'application/problem+json'};
    return Response.json(body, {status, headers});
  }
}

/** What a client is told of an error. */
export function toProblem(error: unknown): HttpProblem {
  if (error instanceof HttpProblem) return error;
  if (error instanceof InvalidOptionError) {
    const [root = '', ...path] = error.option.split('.');
    if (OF_THE_CLIENT.has(root)) return new HttpProblem(422, 'INVALID_FIELD', error.message, {field: path.join('.')});
  }
  const {code, message, retryDelayMs} = clientError(error);
  const status = error instanceof ModelError ? 502 : (STATUSES[code] ?? 500);
  const retryAfter = retryDelayMs !== undefined ? String(Math.ceil(retryDelayMs / 1_000)) : status === 503 ? RETRY_SECONDS : undefined;
  const headers = retryAfter === undefined ? {} : {'retry-after': retryAfter};
  return new HttpProblem(status, code, message, {headers});
}

/** @throws {@link HttpProblem} always: no new work is begun any more */
export function refuseClosing(): never {
  throw new HttpProblem(503, 'CLOSING', 'The server is closing and starts no runs', {headers: {'retry-after': RETRY_SECONDS}});
}

/** A good answer in JSON. Sessions are nobody else's: no cache keeps them. */
export function json(value: unknown): Response {
  return Response.json(value, {headers: {'cache-control': 'no-store'}});
}

/** Until another process of the service may have taken over. */
const RETRY_SECONDS = '5';

/** Where options come from that the client gave: `request` is what a run was asked for with. */
const OF_THE_CLIENT = new Set(['body', 'query', 'request']);

const STATUSES: Readonly<Record<string, number>> = {
  SESSION_NOT_FOUND: 404,
  SESSION_EXISTS: 409,
  SESSION_BUSY: 409,
  SESSION_CONFLICT: 409,
  UNKNOWN_FUNCTION_CALL: 409,
  FUNCTION_CALL_ANSWERED: 409,
  RUN_CANCELLED: 409,
  EVENT_GONE: 410,
  RUNNER_CLOSED: 503,
  RUN_TIMEOUT: 504,
};

const TITLES: Readonly<Record<number, string>> = {
  400: 'Bad Request',
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  405: 'Method Not Allowed',
  409: 'Conflict',
  410: 'Gone',
  413: 'Content Too Large',
  415: 'Unsupported Media Type',
  422: 'Unprocessable Content',
  426: 'Upgrade Required',
  500: 'Internal Server Error',
  501: 'Not Implemented',
  502: 'Bad Gateway',
  503: 'Service Unavailable',
  504: 'Gateway Timeout',
};
