/** Shorthands for live connections in tests. */
import {getEventListeners} from 'node:events';
import {setImmediate as nextTurn} from 'node:timers/promises';
import {expect} from 'vitest';

import {ModelError} from '../../../lib/errors.ts';
import {Gemini, type GeminiOptions} from '../../../lib/gemini/index.ts';
import type {BaseLlmConnection} from '../../../lib/models/base-llm-connection.ts';
import type {LlmRequest} from '../../../lib/models/llm-request.ts';
import type {LlmResponse} from '../../../lib/models/llm-response.ts';
import {rejection} from '../asking.ts';

export const key = 'AIza-SECRET';

export const silent: LlmRequest = {contents: [], config: {}};

/** A model that talks to the server with an API key. */
export function liveModelAt(server: {readonly url: string}, options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({model: 'gemini-live-test', apiKey: key, ...options, httpOptions: {baseUrl: server.url, ...options.httpOptions}});
}

/** What google-auth-library needs of a client. */
export function authClient(getRequestHeaders: () => Promise<Headers>): never {
  return {getRequestHeaders} as never;
}

/** A model on Vertex AI whose login gives the token `T`. */
export function vertexModelAt(server: {readonly url: string}, options: Partial<GeminiOptions> = {}): Gemini {
  const googleAuthOptions = {authClient: authClient(async () => new Headers({authorization: 'Bearer T0KEN'}))};
  const login = {project: 'p', location: 'us-central1', googleAuthOptions};
  return new Gemini({model: 'gemini-live-test', ...login, ...options, httpOptions: {baseUrl: server.url, ...options.httpOptions}});
}

export function listeners({signal}: AbortController): number {
  return getEventListeners(signal, 'abort').length;
}

/** The next so many responses. */
export async function take(source: AsyncIterator<LlmResponse>, count: number): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  while (responses.length < count) {
    const {done, value} = await source.next();
    if (done) throw new Error(`only ${responses.length} responses of ${count}`);
    responses.push(value);
  }
  return responses;
}

/** All that comes until the connection ends, and what it ends with. */
export async function readToEnd(connection: BaseLlmConnection): Promise<{responses: LlmResponse[]; error: unknown}> {
  const responses: LlmResponse[] = [];
  try {
    for await (const response of connection.receive()) responses.push(response);
    return {responses, error: undefined};
  } catch (error) {
    return {responses, error};
  }
}

/** Takes note of every rejection that nobody handles; the check throws where there was one. */
export function noteUnhandledRejections(): () => Promise<void> {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  process.on('unhandledRejection', note);
  return async () => {
    await settle();
    process.off('unhandledRejection', note);
    if (unhandled.length > 0) throw new AggregateError(unhandled, 'rejections that nobody handled');
  };
}

/** Lets everything happen that waits for nothing from outside. */
export async function settle(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await nextTurn();
}

/** What a connection fails with before it is ready. */
export async function refusedBy(server: {readonly url: string}): Promise<ModelError> {
  const error = await rejection(liveModelAt(server).connect(silent));
  expect(error).toBeInstanceOf(ModelError);
  return error as ModelError;
}
