import type {ResultFormat} from './lambda-event.ts';

/** What a function returns that answers an HTTP request as a whole. */
export interface LambdaResult {
  readonly statusCode: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>;
  readonly cookies?: readonly string[];
  readonly body: string;
  /** Whether `body` is base64: where the bytes are no text. A REST API has to be told by its `binaryMediaTypes` to decode it. */
  readonly isBase64Encoded: boolean;
}

/** Reads a response to its end. */
export async function resultOf(response: Response, format: ResultFormat): Promise<LambdaResult> {
  const {status: statusCode} = response;
  return {statusCode, ...headersIn(response.headers, format), ...textOf(await response.bytes())};
}

/** The part of an answer that comes before its stream. */
export function metadataOf({status: statusCode, headers}: Response): object {
  return {statusCode, ...headersIn(headers, 'v2')};
}

function headersIn(headers: Headers, format: ResultFormat): Pick<LambdaResult, 'headers' | 'multiValueHeaders' | 'cookies'> {
  const cookies = headers.getSetCookie();
  const others = [...headers].filter(([name]) => name !== 'set-cookie');
  if (format === 'v2') return {headers: Object.fromEntries(others), ...(cookies.length > 0 && {cookies})};
  if (format === 'single-value') return {headers: Object.fromEntries(headers)};
  const many = others.map(([name, value]): [string, string[]] => [name, [value]]);
  return {multiValueHeaders: {...Object.fromEntries(many), ...(cookies.length > 0 && {'set-cookie': cookies})}};
}

function textOf(bytes: Uint8Array<ArrayBuffer>): Pick<LambdaResult, 'body' | 'isBase64Encoded'> {
  try {
    return {body: new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes), isBase64Encoded: false};
  } catch {
    return {body: Buffer.from(bytes).toString('base64'), isBase64Encoded: true};
  }
}
