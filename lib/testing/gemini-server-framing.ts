import type {Part} from '../content.ts';
import {errorBody} from './gemini-server-errors.ts';
import type {GeminiChunk, GeminiChunks, GeminiContentOptions, GeminiReply} from './gemini-server-replies.ts';
import type {GeminiRequest} from './gemini-server-request.ts';

/** An answer as it goes over the wire. */
export interface Framed {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly pieces: AsyncIterable<Uint8Array>;
}

/** GenerateContentResponse in JSON. */
type Response = Readonly<Record<string, unknown>>;
type Candidate = {content?: {parts?: Part[]; role?: string}} & Record<string, unknown>;

const serverHeaders: Readonly<Record<string, string>> = {
  vary: 'Origin, X-Origin, Referer',
  server: 'scaffolding on HTTPServer2',
  'server-timing': 'gfet4t7; dur=1',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'SAMEORIGIN',
  'x-xss-protection': '0',
};

/** Puts an answer into the bytes and headers that Google's servers would send for this request. */
export function frame(reply: GeminiReply, request: GeminiRequest): Framed {
  const sse = request.stream && request.query.get('alt') === 'sse';
  const headers = {
    'content-type': sse ? 'text/event-stream' : 'application/json; charset=UTF-8',
    ...serverHeaders,
  };
  // Lower case, so that one given in another case takes the place of ours instead of standing beside it.
  const own = Object.fromEntries(Object.entries(reply.options.headers ?? {}).map(([name, value]) => [name.toLowerCase(), value]));
  if (reply.kind === 'failure') {
    const body = Buffer.from(pretty(errorBody(reply.failure)));
    // A fault may cut the body, and a length that does not hold would be another fault than the one asked for.
    const length = reply.options.fault ? {} : {'content-length': body.length};
    return {status: reply.options.status ?? reply.failure.code, headers: {...headers, ...length, ...own}, pieces: only(body)};
  }
  const status = reply.options.status ?? 200;
  const attachment = sse ? {'content-disposition': 'attachment'} : {};
  if (reply.kind === 'raw') return {status, headers: {...headers, ...attachment, ...own}, pieces: only(...reply.pieces)};
  const responses = responsesOf(reply.chunks, reply.options, request);
  const pieces = sse ? events(responses) : request.stream ? array(responses) : whole(responses);
  return {status, headers: {...headers, ...attachment, ...own}, pieces};
}

/** JSON as it stands in Google's events: a space after each colon, none after a comma. */
export function googleJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(googleJson).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value) ?? 'null';
  const members = Object.entries(value).filter(([, item]) => item !== undefined);
  return `{${members.map(([key, item]) => `${JSON.stringify(key)}: ${googleJson(item)}`).join(',')}}`;
}

function pretty(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}

async function* only(...pieces: readonly Uint8Array[]): AsyncGenerator<Uint8Array, void> {
  yield* pieces;
}

async function* events(responses: AsyncIterable<Response>): AsyncGenerator<Uint8Array, void> {
  for await (const response of responses) yield Buffer.from(`data: ${googleJson(response)}\r\n\r\n`);
}

/** What comes without `alt=sse`: one JSON array. */
async function* array(responses: AsyncIterable<Response>): AsyncGenerator<Uint8Array, void> {
  let lead = '[';
  for await (const response of responses) {
    yield Buffer.from(lead + JSON.stringify(response, null, 2));
    lead = '\n,\r\n';
  }
  yield Buffer.from(lead === '[' ? '[]' : '\n]\n');
}

/** The unary answer: all chunks in one. */
async function* whole(responses: AsyncIterable<Response>): AsyncGenerator<Uint8Array, void> {
  let merged: Response = {};
  for await (const response of responses) merged = merge(merged, response);
  yield Buffer.from(pretty(merged));
}

async function* responsesOf(source: GeminiChunks, options: GeminiContentOptions, request: GeminiRequest): AsyncGenerator<Response, void> {
  const last = Array.isArray(source) ? source.length - 1 : Infinity;
  let at = 0;
  for await (const chunk of source) yield toResponse(chunk, at++ === last, options, request);
  if (last === Infinity) yield toResponse('', true, options, request);
}

function toResponse(chunk: GeminiChunk, last: boolean, options: GeminiContentOptions, request: GeminiRequest): Response {
  if (typeof chunk === 'object' && !isParts(chunk)) return chunk;
  const {finishReason = 'STOP', finishMessage, usageMetadata} = options;
  const parts = typeof chunk === 'string' ? [{text: chunk}] : chunk;
  const finish = last ? {finishReason, ...(finishMessage === undefined ? {} : {finishMessage})} : {};
  return {
    candidates: [{content: {parts, role: 'model'}, ...finish, index: 0}],
    usageMetadata: usageMetadata ?? {promptTokenCount: 8, candidatesTokenCount: 4, totalTokenCount: 12},
    modelVersion: request.model,
    responseId: `response-${request.index}`,
  };
}

function isParts(chunk: readonly Part[] | Response): chunk is readonly Part[] {
  return Array.isArray(chunk);
}

function merge(left: Response, right: Response): Response {
  const candidate = mergeCandidates(candidateOf(left), candidateOf(right));
  return candidate ? {...left, ...right, candidates: [candidate]} : {...left, ...right};
}

function candidateOf(response: Response): Candidate | undefined {
  const {candidates} = response as {candidates?: readonly Candidate[]};
  return candidates?.[0];
}

function mergeCandidates(left: Candidate | undefined, right: Candidate | undefined): Candidate | undefined {
  if (!left || !right) return left ?? right;
  const parts = [...(left.content?.parts ?? [])];
  for (const part of right.content?.parts ?? []) {
    const previous = parts.at(-1);
    if (previous && isPlainText(previous) && isPlainText(part) && previous.thought === part.thought) {
      parts[parts.length - 1] = {...previous, text: `${previous.text}${part.text}`};
    } else if (!isPlainText(part) || part.text !== '') parts.push(part);
  }
  return {...left, ...right, content: {...left.content, ...right.content, parts}};
}

function isPlainText(part: Part): boolean {
  return Object.keys(part).every((key) => key === 'text' || key === 'thought') && part.text !== undefined;
}
