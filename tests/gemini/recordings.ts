/**
 * Recorded Gemini traffic, served byte for byte over loopback, and what a correct client must make of it. The data lies beside the project
 * and is never copied into it.
 */
import {existsSync, readFileSync} from 'node:fs';
import {createServer, type IncomingMessage, type ServerResponse} from 'node:http';
import type {AddressInfo} from 'node:net';

import type {Part} from '../../lib/content.ts';
import {ModelError} from '../../lib/errors.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';

export interface RecordedCall {
  readonly name: string;
  readonly id: string | null;
  readonly args: Record<string, unknown>;
  /** Whether its part holds a thought signature. */
  readonly sig: boolean;
}

export interface Recording {
  readonly id: string;
  readonly api: 'generateContent' | 'streamGenerateContent';
  readonly backend: 'gemini' | 'vertex';
  readonly model: string | null;
  readonly requestBody: unknown;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly sse: boolean;
  readonly raw: string;
  readonly expect: {
    readonly text: string;
    readonly thoughts: string;
    readonly calls: readonly RecordedCall[];
    readonly finish: string | null;
    readonly finishMessage: string | null;
    readonly block: {readonly reason: string; readonly message: string | null} | null;
    readonly error: {
      readonly code: number;
      readonly status: string | null;
      readonly message: string;
      readonly http?: number;
      readonly retryDelay?: string;
    } | null;
    readonly usage: Readonly<Record<string, unknown>> | null;
    readonly signatures: number;
  };
}

/** What comes out of one exchange, reduced to what a recording can say about it. */
export type Outcome =
  | {readonly error: {readonly code: string; readonly status?: number; readonly message?: string; readonly retryDelayMs?: number}}
  | {
      readonly text: string;
      readonly thoughts: string;
      readonly calls: readonly RecordedCall[];
      readonly signatures: number;
      readonly finish: string | null;
      readonly usage: unknown;
      readonly errorCode: string | null;
      /** Only where the recording has words of the server's. */
      readonly errorMessage?: string;
    };

/** How a body is cut into writes. */
export const chunkings: Readonly<Record<string, (body: Buffer) => Buffer[]>> = {
  whole: (body) => [body],
  'by event': (body) => splitAfter(body, /\r\n\r\n|\n\n/g),
  'by 61 bytes': (body) => slices(body, 61),
  'by 7 bytes': (body) => slices(body, 7),
};

export type Chunking = keyof typeof chunkings;

const folder = new URL('../../../shared/recordings/', import.meta.url);

/** All exchanges of generateContent and streamGenerateContent; none, and a loud line, where the folder is missing. */
export function loadRecordings(): readonly Recording[] {
  const file = new URL('http.jsonl', folder);
  if (!existsSync(file)) {
    console.warn('\n*** SKIPPED: there is no folder `../shared/recordings` beside the project, so no recorded traffic was replayed ***\n');
    return [];
  }
  return readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Recording)
    .filter(({api}) => api === 'generateContent' || api === 'streamGenerateContent');
}

export interface RecordingServer extends AsyncDisposable {
  /** The base URL under which every request is answered with this recording, cut up in this way. */
  baseUrl(recording: Recording, chunking: Chunking): string;
}

/** Serves recordings on a free loopback port; the first segment of a request's path says which one, the second how. */
export async function serveRecordings(recordings: readonly Recording[]): Promise<RecordingServer> {
  const names = Object.keys(chunkings);
  const server = createServer((request, response) => {
    const [, index, chunking] = (request.url ?? '').split('/');
    const recording = recordings[Number(index)];
    const cut = chunkings[names[Number(chunking)] ?? ''];
    if (recording === undefined || cut === undefined) throw new Error(`no such recording: ${request.url}`);
    void answer(request, response, recording, cut);
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  const {port} = server.address() as AddressInfo;
  return {
    baseUrl: (recording, chunking) => `http://127.0.0.1:${port}/${recordings.indexOf(recording)}/${names.indexOf(chunking)}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

/**
 * What a correct client makes of a recording. The table below it names those where the SDK stands in the way; `finishMessage`, which the SDK
 * drops on the Gemini backend, is expected on Vertex AI only.
 */
export function expectedOutcome(recording: Recording): Outcome {
  const {expect: expected, backend} = recording;
  const standsFor = standsForError[recording.id];
  if (standsFor !== undefined) return {error: {code: standsFor}};
  if (expected.error !== null) return {error: expectedError(expected.error)};
  const errorCode = expected.block?.reason ?? blockedWithoutReason[recording.id] ?? (expected.finish === 'STOP' ? null : expected.finish);
  const message = expected.block?.message ?? (backend === 'vertex' && expected.block === null ? expected.finishMessage : null);
  return {
    text: expected.text,
    thoughts: expected.thoughts,
    calls: expected.calls,
    signatures: expected.signatures,
    finish: expected.finish,
    usage: expected.usage,
    errorCode,
    ...(errorCode !== null && message !== null && {errorMessage: message}),
  };
}

/** What came out, in the same form, given the whole response or what was thrown. */
export function outcomeOf(result: LlmResponse | ModelError, recording: Recording): Outcome {
  const expected = expectedOutcome(recording);
  if (result instanceof ModelError) {
    const {code, status, message, retryDelayMs} = result;
    const wanted = 'error' in expected ? expected.error : {};
    return {
      error: {
        code,
        ...('status' in wanted && status !== undefined && {status}),
        ...('message' in wanted && {message}),
        ...(retryDelayMs !== undefined && {retryDelayMs}),
      },
    };
  }
  const parts = result.content?.parts ?? [];
  return {
    text: textOf(parts, false),
    thoughts: textOf(parts, true),
    calls: parts.flatMap((part) => (part.functionCall === undefined ? [] : [recordedCall(part)])),
    signatures: parts.filter((part) => part.thoughtSignature !== undefined).length,
    finish: result.finishReason ?? null,
    usage: result.usageMetadata ?? null,
    errorCode: result.errorCode ?? null,
    ...('errorMessage' in expected && {errorMessage: result.errorMessage ?? ''}),
  };
}

/** Of these the SDK makes something else in some chunkings. Whatever it makes must be an error, since the answer is not whole. */
export const spoiledBySdk: Readonly<Record<string, string>> = {
  'vertexai-sdk-test-data/vertexai/streaming-failure-error-mid-stream.txt#0':
    'an error body without `data:` in the middle of a stream is seen only when it arrives as one TCP chunk; else it is an unfinished event',
};

/** Bodies that are no answer to generateContent at all: the error that they stand for is ours. */
const standsForError: Readonly<Record<string, string>> = {
  'vertexai-sdk-test-data/vertexai/streaming-failure-invalid-json.txt#0': 'STREAM_INCOMPLETE',
  'vertexai-sdk-test-data/vertexai/unary-failure-invalid-response.json#0': 'EMPTY_RESPONSE',
  'vertexai-sdk-test-data/vertexai/unary-success-detailed-token-response.json#0': 'EMPTY_RESPONSE',
  'vertexai-sdk-test-data/vertexai/unary-success-no-billable-characters.json#0': 'EMPTY_RESPONSE',
  'js-genai/Client_Tests_generateContentStream_ML_Dev_should_return_the_headers_in_the_sdkHttpResponse_for_each_chunk.json#0':
    'STREAM_INCOMPLETE',
  'langchainjs/tests/data/chat-6a-mock.json#0': 'EMPTY_RESPONSE',
};

/** A `promptFeedback` with no candidate and no reason: blocked, says the API's documentation. */
const blockedWithoutReason: Readonly<Record<string, string>> = {
  'vertexai-sdk-test-data/googleai/unary-failure-only-prompt-feedback.json#0': 'BLOCKED_REASON_UNSPECIFIED',
};

function expectedError(error: NonNullable<Recording['expect']['error']>): Extract<Outcome, {error: object}>['error'] {
  const html = error.status === null;
  return {
    code: error.status ?? 'NOT_FOUND',
    status: error.http ?? error.code,
    ...(!html && {message: error.message}),
    ...(error.retryDelay !== undefined && {retryDelayMs: Number.parseFloat(error.retryDelay) * 1000}),
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  recording: Recording,
  cut: (body: Buffer) => Buffer[],
): Promise<void> {
  request.resume();
  response.writeHead(recording.status, headersOf(recording));
  for (const piece of cut(Buffer.from(bodyOf(recording)))) {
    // Each write is a chunk of the HTTP body of its own, and reaches the reader as one.
    response.write(piece);
    await new Promise(setImmediate);
  }
  response.end();
}

/** The body as it is served. Five streams lack the blank line after their last event, which no real server leaves out. */
export function bodyOf({raw, sse, status, id}: Recording): string {
  const unfinished = sse && status === 200 && raw !== '' && !/(\r\n\r\n|\n\n)$/.test(raw) && spoiledBySdk[id] === undefined;
  return unfinished ? `${raw}\n` : raw;
}

/** The recorded headers, but for those of one connection only. */
export function headersOf(recording: Recording): Record<string, string> {
  return {...keptHeaders(recording), 'Content-Type': contentType(recording)};
}

function keptHeaders({headers}: Recording): Record<string, string> {
  const hops = new Set(['content-length', 'content-encoding', 'transfer-encoding', 'connection', 'content-type']);
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !hops.has(name.toLowerCase())));
}

function contentType({headers, api, sse, raw}: Recording): string {
  const recorded = Object.entries(headers).find(([name]) => name.toLowerCase() === 'content-type')?.[1];
  if (recorded !== undefined) return recorded;
  if (raw.startsWith('<')) return 'text/html; charset=UTF-8';
  return sse || api === 'streamGenerateContent' ? 'text/event-stream' : 'application/json; charset=UTF-8';
}

function textOf(parts: readonly Part[], thought: boolean): string {
  return parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
}

function recordedCall({functionCall, thoughtSignature}: Part): RecordedCall {
  const {name = '', id = null, args = {}} = functionCall ?? {};
  return {name, id, args, sig: thoughtSignature !== undefined};
}

function splitAfter(body: Buffer, delimiter: RegExp): Buffer[] {
  const text = body.toString('latin1');
  const ends = [...text.matchAll(delimiter)].map((match) => match.index + match[0].length);
  return [0, ...ends].map((start, index) => body.subarray(start, ends[index] ?? body.length)).filter((piece) => piece.length > 0);
}

function slices(body: Buffer, size: number): Buffer[] {
  return Array.from({length: Math.ceil(body.length / size)}, (_, index) => body.subarray(index * size, (index + 1) * size));
}
