/** A bare WebSocket client of the Live API, which keeps what it gets as it came. */
import type {LiveCallbacks, LiveServerMessage} from '@google/genai';
import type {Socket} from 'node:net';
import {WebSocket, type ClientOptions} from 'ws';
import type {GeminiLiveServer, LiveServerSession} from '../../lib/testing/index.ts';

export const geminiPath = '//ws/google.ai.generativelanguage.v1beta.GenerativeService.BidiGenerateContent?key=k';
export const vertexPath = '//ws/google.cloud.aiplatform.v1beta1.LlmBidiService/BidiGenerateContent?key=k';

export const setup = {setup: {model: 'models/gemini-live-2.5-flash-preview'}};

export interface Frame {
  readonly text: string;
  readonly binary: boolean;
}

export interface LiveClient {
  readonly webSocket: WebSocket;
  /** The server's side of the connection. */
  readonly session: LiveServerSession;
  /** What has come so far. */
  readonly frames: readonly Frame[];
  /** What has come over TCP since the handshake, one entry per read. */
  readonly reads: readonly Buffer[];
  readonly closed: Promise<{code: number; reason: string}>;
  send(message: unknown): void;
  /** The next frame that no earlier call got. */
  next(): Promise<Frame>;
}

export interface Dial {
  readonly path?: string;
  readonly options?: ClientOptions;
}

/** A message as the server frames it. */
export const framed = (message: object): Frame => ({text: `${JSON.stringify(message, null, 2)}\n`, binary: true});

/** Collects what a client of the SDK's gets. */
export function listener(): {
  readonly messages: LiveServerMessage[];
  readonly callbacks: LiveCallbacks;
  readonly closed: Promise<number>;
} {
  const messages: LiveServerMessage[] = [];
  const {promise: closed, resolve} = Promise.withResolvers<number>();
  // A copy: the SDK gives messages a prototype with getters.
  const onmessage = (message: LiveServerMessage): unknown => messages.push({...message} as LiveServerMessage);
  return {messages, callbacks: {onmessage, onclose: ({code}) => resolve(code)}, closed};
}

/** Connects, and waits until the handshake is done. */
export async function dial(server: GeminiLiveServer, {path = geminiPath, options}: Dial = {}): Promise<LiveClient> {
  const webSocket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, options);
  const [frames, reads, waiting]: [Frame[], Buffer[], ((frame: Frame) => void)[]] = [[], [], []];
  let handedOut = 0;
  webSocket.once('upgrade', ({socket}: {readonly socket: Socket}) => {
    // Not before `ws` reads, too: what came with the handshake would go to this reader only.
    webSocket.once('open', () => socket.on('data', (read: Buffer) => reads.push(read)));
  });
  webSocket.on('message', (data: Buffer, binary) => {
    frames.push({text: data.toString(), binary});
    waiting.shift()?.({text: data.toString(), binary});
  });
  const closed = new Promise<{code: number; reason: string}>((resolve) => {
    webSocket.once('close', (code, reason) => resolve({code, reason: reason.toString()}));
  });
  await new Promise((resolve, reject) => {
    webSocket.once('open', resolve);
    webSocket.once('error', reject);
  });
  return {
    webSocket,
    session: await server.nextSession(),
    frames,
    reads,
    closed,
    send: (message) => webSocket.send(JSON.stringify(message)),
    next: () => {
      const frame = frames[handedOut++];
      return frame ? Promise.resolve(frame) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

/** By the time another client has been let in and heard, all that was under way to either side has come. */
export async function roundTrip(server: GeminiLiveServer): Promise<void> {
  const client = await dial(server);
  client.send(setup);
  await client.session.message('setup');
  client.session.send({});
  await client.next();
  client.webSocket.terminate();
}

/** The next message, past the empty ones. */
export async function nextMessage(client: LiveClient): Promise<unknown> {
  for (;;) {
    const message = JSON.parse((await client.next()).text) as object;
    if (Object.keys(message).length > 0) return message;
  }
}

/** How the server answers a handshake that it refuses. */
export function refusedHandshake(
  server: GeminiLiveServer,
  path: string,
  headers: Record<string, string> = {},
): Promise<{readonly status: number; readonly contentType: string; readonly body: string}> {
  const webSocket = new WebSocket(`${server.url.replace('http', 'ws')}${path}`, {headers});
  return new Promise((resolve, reject) => {
    webSocket.once('open', () => reject(new Error('the handshake was accepted')));
    webSocket.once('error', reject);
    webSocket.once('unexpected-response', (_request, response) => {
      let body = '';
      response.on('data', (piece: Buffer) => (body += piece.toString()));
      response.once('end', () => {
        resolve({status: response.statusCode ?? 0, contentType: response.headers['content-type'] ?? '', body});
      });
    });
  });
}
