import {getEventListeners} from 'node:events';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';

import {afterEach, expect, test, vi} from 'vitest';

import {InvalidOptionError} from '../../lib/errors.ts';
import {BaseLlm} from '../../lib/models/base-llm.ts';
import {LLMRegistry} from '../../lib/models/llm-registry.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';

afterEach(() => vi.unstubAllEnvs());

function llmClass(...supportedModels: readonly (string | RegExp)[]) {
  return class extends BaseLlm {
    static override readonly supportedModels: readonly (string | RegExp)[] = supportedModels;

    async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {}
  };
}

test('a string serves exactly itself, a pattern exactly whole names', () => {
  const Mine = llmClass('one', /two-\d/, /(?:three|four)/gi);
  LLMRegistry.register(Mine);
  for (const model of ['one', 'two-1', 'three', 'FOUR', 'FOUR']) {
    expect(LLMRegistry.resolve(model)).toBe(Mine);
    expect(LLMRegistry.newLlm(model)).toBeInstanceOf(Mine);
    expect(LLMRegistry.newLlm(model).model).toBe(model);
  }
  for (const model of ['one-more', 'two-12', 'a two-1', 'threefour']) expect(() => LLMRegistry.resolve(model)).toThrow(InvalidOptionError);
});

test('the newest registration wins, at once and over Gemini too', () => {
  const [First, Second] = [llmClass(/x-.+/), llmClass(/x-.+/, /gemini-mine/)];
  LLMRegistry.register(First);
  expect(LLMRegistry.resolve('x-1')).toBe(First);
  LLMRegistry.register(Second);
  expect(LLMRegistry.resolve('x-1')).toBe(Second);
  expect(LLMRegistry.resolve('gemini-mine')).toBe(Second);
  LLMRegistry.register(First);
  expect(LLMRegistry.resolve('x-1')).toBe(First);
});

test.each([
  'gemini-2.5-flash',
  'models/gemini-2.5-flash',
  'gemma-3-27b-it',
  'google/gemini-2.5-pro',
  'publishers/google/models/gemini-2.5-pro',
  'projects/p/locations/l/publishers/google/models/gemini-2.5-pro',
  'projects/p/locations/l/endpoints/123',
  'tunedModels/mine',
])("%s is a name of Gemini's", (model) => {
  const llm = LLMRegistry.newLlm(model);
  expect(llm.model).toBe(model);
  expect(LLMRegistry.newLlm(model)).not.toBe(llm);
});

test.each(['gpt-5', 'my-gemini-2', 'gemini', '', 7])('%j is refused with the way out', (model) => {
  expect(() => LLMRegistry.newLlm(model as string)).toThrow(InvalidOptionError);
  expect(() => LLMRegistry.newLlm(model as string)).toThrow(/LLMRegistry\.register\(\.\.\.\)/);
});

test.each([{given: 'gemini'}, {given: {}}, {given: llmClass()}, {given: llmClass('')}])(
  'what is no class of models cannot be registered: $given',
  ({given}) => {
    expect(() => LLMRegistry.register(given as never)).toThrow(InvalidOptionError);
  },
);

test('a Gemini name calls Gemini, by way of the environment', async () => {
  const paths: (string | undefined)[] = [];
  const server = createServer((request, response) => {
    paths.push(request.url);
    response.writeHead(200, {'Content-Type': 'text/event-stream'});
    response.end('data: {"candidates": [{"content": {"parts": [{"text": "hi"}]}, "finishReason": "STOP"}]}\r\n\r\n');
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  vi.stubEnv('GEMINI_API_KEY', 'KEY');
  vi.stubEnv('GOOGLE_GEMINI_BASE_URL', `http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const llm = LLMRegistry.newLlm('gemini-2.5-flash');
  const request = {contents: [{role: 'user', parts: [{text: 'hi'}]}], config: {}};

  const responses: LlmResponse[] = [];
  for await (const response of llm.generateContentAsync(request, true)) responses.push(response);
  expect(responses).toEqual([
    {content: {role: 'model', parts: [{text: 'hi'}]}, partial: true},
    {content: {role: 'model', parts: [{text: 'hi'}]}, finishReason: 'STOP'},
  ]);
  expect(paths).toEqual(['/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse']);

  server.closeAllConnections();
  await new Promise((resolve) => server.close(resolve));
});

test('an abort while the adapter is loaded rejects with the reason and leaves no listener', async () => {
  const stop = new AbortController();
  const pending = LLMRegistry.newLlm('gemini-2.5-flash').generateContentAsync({contents: [], config: {}}, true, stop.signal).next();
  stop.abort('enough');
  await expect(pending).rejects.toBe('enough');
  expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
});
