/** Shorthands for calling a model in tests. */
import {setTimeout as nodeSetTimeout} from 'node:timers';

import {vi} from 'vitest';

import type {Content, GenerateContentConfig} from '../../lib/content.ts';
import {Gemini, type GeminiOptions} from '../../lib/gemini/index.ts';
import type {BaseLlm} from '../../lib/models/base-llm.ts';
import type {LlmRequest} from '../../lib/models/llm-request.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';
import type {RawServer} from './raw-server.ts';

/** A model that talks to the server with an API key; it does not wait between retries. */
export function geminiAt(server: RawServer, options: Partial<GeminiOptions> = {}): Gemini {
  return new Gemini({
    model: 'gemini-test',
    apiKey: 'KEY',
    retryDelayMs: 0,
    ...options,
    httpOptions: {baseUrl: server.url, ...options.httpOptions},
  });
}

export function ask(
  contents: readonly Content[] = [{role: 'user', parts: [{text: 'hi'}]}],
  config: GenerateContentConfig = {},
): LlmRequest {
  return {contents: [...contents], config};
}

/** Every response to one streamed call. */
export async function streamed(model: BaseLlm, request: LlmRequest = ask(), abortSignal?: AbortSignal): Promise<LlmResponse[]> {
  return collect(model.generateContentAsync(request, true, abortSignal));
}

/** The one response to a call that is not streamed. */
export async function whole(model: BaseLlm, request: LlmRequest = ask(), abortSignal?: AbortSignal): Promise<LlmResponse | undefined> {
  const responses = await collect(model.generateContentAsync(request, false, abortSignal));
  if (responses.length > 1) throw new Error(`${responses.length} responses to a call that is not streamed`);
  return responses[0];
}

/** All that a generator yields. */
export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
  const values: T[] = [];
  for await (const value of source) values.push(value);
  return values;
}

/** What a promise is rejected with. */
export async function rejection(promise: Promise<unknown>): Promise<unknown> {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  throw new Error('it did not reject');
}

/** The first timer that is set for so long, from now on. Needs `vi.restoreAllMocks()` after the test. */
export function nextTimer(matches: (ms: number) => boolean): Promise<{readonly timer: unknown; readonly ms: number}> {
  const armed = Promise.withResolvers<{timer: unknown; ms: number}>();
  vi.spyOn(globalThis, 'setTimeout').mockImplementation(((run: () => void, ms = 0, ...rest: unknown[]) => {
    const timer = nodeSetTimeout(run, ms, ...rest);
    if (matches(ms)) armed.resolve({timer, ms});
    return timer;
  }) as typeof setTimeout);
  return armed.promise;
}
