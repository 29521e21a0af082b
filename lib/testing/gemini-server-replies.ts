import type {FunctionCall, Part, UsageMetadata} from '../content.ts';
import {isGemini3, type GeminiRequest} from './gemini-server-request.ts';

/** What goes wrong with an answer, and where. */
export interface GeminiFault {
  /**
   * - `'stall'`: nothing more comes, the connection stays open;
   * - `'reset'`: the connection is torn down (TCP RST);
   * - `'cut'`: a clean end of the body, too early;
   * - `'error'`: `body` comes raw, without `data:`, and the body ends.
   */
  readonly kind: 'stall' | 'reset' | 'cut' | 'error';
  /** After so many chunks (0: right after the headers), or after the `'request'`, before any header. A unary answer is one chunk. */
  readonly after: number | 'request';
  /** How many bytes of the next chunk still come before it. Default: 0. */
  readonly bytes?: number;
  /** What an `'error'` writes. Default: Google's body for 503. */
  readonly body?: string;
}

/** How an answer is delivered. */
export interface GeminiDelivery {
  /** Default: 200, or the failure's code. */
  readonly status?: number | undefined;
  /** Added to the usual ones, or put in their place. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Writes the body in HTTP chunks of so many bytes. Default: one per response. */
  readonly chunkBytes?: number | undefined;
  /** Milliseconds of real time before the headers. Default: 0. */
  readonly headersDelayMs?: number | undefined;
  /** Milliseconds of real time between two chunks. Default: 0. */
  readonly chunkDelayMs?: number | undefined;
  readonly fault?: GeminiFault | undefined;
}

/** What an answer says besides its content. */
export interface GeminiContentOptions extends GeminiDelivery {
  /** Default: `'STOP'`. */
  readonly finishReason?: string | undefined;
  readonly finishMessage?: string | undefined;
  /** Stands on every chunk. Default: a few tokens. */
  readonly usageMetadata?: UsageMetadata | undefined;
  /** A thought summary before the content. */
  readonly thoughts?: string | undefined;
}

/** Some text, some parts, or a whole GenerateContentResponse in JSON, which is sent as it is. */
export type GeminiChunk = string | readonly Part[] | Readonly<Record<string, unknown>>;

/** Chunks in order. A promise among them is waited for; an iterable may be endless, and is closed when the client leaves. */
export type GeminiChunks = Iterable<GeminiChunk | PromiseLike<GeminiChunk>> | AsyncIterable<GeminiChunk>;

/** What an error body holds. */
export interface GeminiFailure {
  /** The HTTP status, such as 429. */
  readonly code: number;
  /** Default: Google's own for the code. */
  readonly status?: string | undefined;
  readonly message?: string | undefined;
  readonly details?: readonly Readonly<Record<string, unknown>>[] | undefined;
  /** Adds a `RetryInfo`, for example `'34.4s'`. */
  readonly retryDelay?: string | undefined;
}

/** An answer; made by {@link answer}, {@link calls}, {@link chunks}, {@link raw} and {@link failure}. */
export type GeminiReply =
  | {readonly kind: 'content'; readonly chunks: GeminiChunks; readonly options: GeminiContentOptions}
  | {readonly kind: 'raw'; readonly pieces: readonly Uint8Array[]; readonly options: GeminiDelivery}
  | {readonly kind: 'failure'; readonly failure: GeminiFailure; readonly options: GeminiDelivery};

/** An answer, or a function that decides on one when the request has come. */
export type GeminiReplySource = GeminiReply | ((request: GeminiRequest) => GeminiReply | Promise<GeminiReply>);

/** Answers with one text. */
export function answer(text: string, options: GeminiContentOptions & {readonly thoughtSignature?: string} = {}): GeminiReply {
  const {thoughtSignature, ...rest} = options;
  return chunks([thoughtSignature === undefined ? text : [{text, thoughtSignature}]], rest);
}

/**
 * Answers with chunks as given. The finish reason stands on the last one of an array; of any other iterable on an empty text chunk behind
 * it, since nobody knows the last one beforehand.
 */
export function chunks(source: GeminiChunks, options: GeminiContentOptions = {}): GeminiReply {
  const {thoughts} = options;
  return {kind: 'content', chunks: thoughts === undefined ? source : withThoughts(thoughts, source), options};
}

/**
 * Answers with function calls, the way the requested model does it: from Gemini 3 on, each in a chunk of its own, with an id, the first one
 * with a thought signature, and an empty text at the end; before that, all in one chunk and without ids. An `id` or a `thoughtSignature` that
 * is given is always sent.
 */
export function calls(
  list: readonly (FunctionCall & {readonly thoughtSignature?: string})[],
  options: GeminiContentOptions = {},
): (request: GeminiRequest) => GeminiReply {
  return (request) => {
    const modern = isGemini3(request.model);
    const parts = list.map(({thoughtSignature, id, args, ...call}, at): Part => {
      const signature = thoughtSignature ?? (modern && at === 0 ? btoa(`thought ${request.index}`) : undefined);
      const ownId = id ?? (modern ? `call-${request.index}-${at}` : undefined);
      const functionCall = {...call, args: args ?? {}, ...(ownId === undefined ? {} : {id: ownId})};
      return signature === undefined ? {functionCall} : {functionCall, thoughtSignature: signature};
    });
    const finishMessage = 'Model generated function call(s).';
    return chunks(modern ? [...parts.map((part) => [part]), ''] : [parts], {finishMessage, ...options});
  };
}

/** Answers with a body byte for byte. An array is written piece by piece; to a fault, each is a chunk. */
export function raw(body: string | Uint8Array | readonly string[], options: GeminiDelivery = {}): GeminiReply {
  const pieces = typeof body === 'string' || body instanceof Uint8Array ? [body] : body;
  return {kind: 'raw', pieces: pieces.map((piece) => (typeof piece === 'string' ? Buffer.from(piece) : piece)), options};
}

/** Refuses, with an error body as Google sends it. */
export function failure(what: GeminiFailure, options: GeminiDelivery = {}): GeminiReply {
  return {kind: 'failure', failure: what, options};
}

function withThoughts(thoughts: string, source: GeminiChunks): GeminiChunks {
  const first: GeminiChunk = [{text: thoughts, thought: true}];
  if (Array.isArray(source)) return [first, ...(source as readonly GeminiChunk[])];
  return (async function* () {
    yield first;
    yield* source;
  })();
}
