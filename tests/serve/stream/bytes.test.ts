import {
  HookError,
  InvalidOptionError,
  ModelError,
  RunCancelledError,
  RunTimeoutError,
  SessionNotFoundError,
  type CreateEventParams,
} from 'sluice';
import {RunFeed} from '../../../lib/serve/stream/run-feed.ts';
import {describe, expect, test, vi} from 'vitest';
import {clientError} from '../../../lib/serve/stream/client-error.ts';
import {startResponse, toResponse} from '../../../lib/serve/stream/to-response.ts';
import {hello, scriptedRun, stage} from './stage.ts';

const actions = '{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}';
const said = (text: string, rest: CreateEventParams = {}): CreateEventParams => ({...rest, content: {role: 'model', parts: [{text}]}});

/** A reply in two pieces, a call with progress and its response, and the last words. */
function* script(): Generator<CreateEventParams> {
  const call = {functionCall: {id: 'c1', name: 'look', args: {at: 'sky'}}};
  const response = {id: 'c1', name: 'look', response: {sky: 'blue'}};
  yield {id: 'e1', partial: true, content: {role: 'model', parts: [{text: 'Hm.', thought: true}]}};
  yield said('Let me ', {id: 'e1', partial: true});
  yield {id: 'e1', content: {role: 'model', parts: [{text: 'Hm.', thought: true}, {text: 'Let me look.'}, call]}};
  yield {
    id: 'p',
    partial: true,
    content: {role: 'user', parts: [{functionResponse: {...response, response: {result: 'half'}, willContinue: true}}]},
  };
  yield {id: 'e2', content: {role: 'user', parts: [{functionResponse: response}]}};
  yield said('Blue.', {id: 'e3', finishReason: 'STOP'});
}

const head = (id: string): string => `"author":"clerk","timestamp":7,"id":"${id}"`;

test('sse sends one message per Event, each with an id of its own', async () => {
  const run = scriptedRun(script);
  const response = toResponse(run);
  expect(Object.fromEntries(response.headers)).toEqual({
    'content-type': 'text/event-stream',
    'cache-control': 'no-store, no-transform',
    'x-accel-buffering': 'no',
  });
  const invocation = `"invocationId":"${run.invocationId}","actions":${actions}`;
  const call = '{"functionCall":{"id":"c1","name":"look","args":{"at":"sky"}}}';
  expect(await response.text()).toBe(
    [
      `data: {${head('e1')},"partial":true,"content":{"role":"model","parts":[{"text":"Hm.","thought":true}]},${invocation}}`,
      `data: {${head('e1')},"partial":true,"content":{"role":"model","parts":[{"text":"Let me "}]},${invocation}}`,
      `data: {${head('e1')},"content":{"role":"model","parts":[{"text":"Hm.","thought":true},{"text":"Let me look."},${call}]},${invocation}}`,
      `data: {${head('p')},"partial":true,"content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"result":"half"},"willContinue":true}}]},${invocation}}`,
      `data: {${head('e2')},"content":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"look","response":{"sky":"blue"}}}]},${invocation}}`,
      `data: {${head('e3')},"finishReason":"STOP","content":{"role":"model","parts":[{"text":"Blue."}]},${invocation}}`,
    ]
      .map((message) => `${message}\n\n`)
      .join(''),
  );
});

test('ndjson sends one line per Event', async () => {
  const run = scriptedRun(() => [said('Yes,\nindeed.', {id: 'e1'}), said('No.', {id: 'e2'})]);
  const response = toResponse(run, {format: 'ndjson'});
  expect(response.headers.get('content-type')).toBe('application/x-ndjson');
  const invocation = `"invocationId":"${run.invocationId}","actions":${actions}`;
  expect(await response.text()).toBe(
    `{${head('e1')},"content":{"role":"model","parts":[{"text":"Yes,\\nindeed."}]},${invocation}}\n` +
      `{${head('e2')},"content":{"role":"model","parts":[{"text":"No."}]},${invocation}}\n`,
  );
});

test('ui-message-stream sends steps, deltas, tools and the end, and repeats nothing', async () => {
  const run = scriptedRun(script);
  const response = toResponse(run, {format: 'ui-message-stream'});
  expect(response.headers.get('content-type')).toBe('text/event-stream');
  expect(response.headers.get('x-vercel-ai-ui-message-stream')).toBe('v1');
  const call = '"toolCallId":"c1"';
  expect((await response.text()).split('\n\n')).toEqual([
    `data: {"type":"start","messageId":"${run.invocationId}","messageMetadata":{"invocationId":"${run.invocationId}"}}`,
    'data: {"type":"start-step"}',
    'data: {"type":"reasoning-start","id":"0"}',
    'data: {"type":"reasoning-delta","id":"0","delta":"Hm."}',
    'data: {"type":"reasoning-end","id":"0"}',
    'data: {"type":"text-start","id":"1"}',
    'data: {"type":"text-delta","id":"1","delta":"Let me "}',
    'data: {"type":"text-delta","id":"1","delta":"look."}',
    'data: {"type":"text-end","id":"1"}',
    `data: {"type":"tool-input-available",${call},"toolName":"look","input":{"at":"sky"}}`,
    `data: {"type":"tool-output-available",${call},"output":{"result":"half"},"preliminary":true}`,
    `data: {"type":"tool-output-available",${call},"output":{"sky":"blue"}}`,
    'data: {"type":"finish-step"}',
    'data: {"type":"start-step"}',
    'data: {"type":"text-start","id":"2"}',
    'data: {"type":"text-delta","id":"2","delta":"Blue."}',
    'data: {"type":"text-end","id":"2"}',
    'data: {"type":"finish-step"}',
    'data: {"type":"finish","finishReason":"stop","messageMetadata":{}}',
    'data: [DONE]',
    '',
  ]);
});

test('sse of a feed has an id in each message, that of a piece with its place, and one that would break a message apart as a URI component', async () => {
  const run = scriptedRun(() => [said('H', {id: 'e1', partial: true}), said('Hi.', {id: 'e1'}), said('Bye.', {id: 'a\nb: \ud800é'})]);
  const messages = (await new RunFeed(run).toResponse().text()).split('\n\n');
  expect(messages.map((message) => message.split('\ndata: {')[0])).toEqual([
    `id: e1:1-${run.invocationId.slice(-8)}`,
    'id: e1',
    'id: a%0Ab%3A%20%EF%BF%BD%C3%A9',
    '',
  ]);
});

describe('an error that ends the run is the last message', () => {
  async function ends(error: unknown, format: 'sse' | 'ndjson' | 'ui-message-stream'): Promise<{bytes: string; logged: unknown[]}> {
    const logged: unknown[] = [];
    async function* script(): AsyncGenerator<CreateEventParams> {
      yield said('Well', {id: 'e1'});
      throw error;
    }
    const run = scriptedRun(script);
    const bytes = await toResponse(run, {format, onError: (it) => logged.push(it)}).text();
    return {bytes: bytes.replaceAll(run.invocationId.slice(-8), 'TAG'), logged};
  }
  const model = new ModelError('Project 1234 has used up its quota', {code: 'RESOURCE_EXHAUSTED', status: 429, retryDelayMs: 1_500});
  const busy = {error: 'The model takes no more requests at the moment', code: 'RESOURCE_EXHAUSTED', retryDelayMs: 1_500};
  const foreign = new Error('password: 1234');

  test('with the words of an error of Sluice', async () => {
    const {bytes, logged} = await ends(new RunTimeoutError(20), 'sse');
    const told = JSON.stringify({error: 'The run did not end within 20 ms', code: 'RUN_TIMEOUT'});
    expect(bytes.split('\n\n').slice(-2)).toEqual([`data: ${told}`, '']);
    expect(logged).toEqual([new RunTimeoutError(20)]);
  });

  test('with words of our own for what a model’s provider says, which the log is told', async () => {
    const {bytes, logged} = await ends(model, 'sse');
    expect(bytes.split('\n\n').slice(-2)).toEqual([`data: ${JSON.stringify(busy)}`, '']);
    expect(logged).toEqual([model]);
    expect((await ends(model, 'ndjson')).bytes.split('\n').at(-2)).toBe(JSON.stringify(busy));
  });

  test('and nothing of any other error, which the log is told', async () => {
    const {bytes, logged} = await ends(foreign, 'ndjson');
    expect(bytes.split('\n').at(-2)).toBe('{"error":"internal error","code":"INTERNAL"}');
    expect(bytes).not.toContain('1234');
    expect(logged).toEqual([foreign]);
    const hook = await ends(new HookError('beforeModelCallback', 'clerk', foreign), 'ndjson');
    const lost = await ends(new ModelError('connect 10.0.0.7:443', {code: 'CONNECTION_LOST', cause: foreign}), 'ndjson');
    expect(lost.bytes.split('\n').at(-2)).toBe('{"error":"The request to the model failed","code":"CONNECTION_LOST"}');
    expect(hook.bytes.split('\n').at(-2)).toBe('{"error":"`beforeModelCallback` failed","code":"HOOK_FAILED"}');
  });

  test('and the log is the console by default', async () => {
    const log = vi.spyOn(console, 'error').mockImplementation(() => {});
    await toResponse(scriptedRun(() => failing(foreign))).text();
    await toResponse(scriptedRun(() => failing(model))).text();
    await toResponse(scriptedRun(() => failing(new RunTimeoutError(20)))).text();
    expect(log.mock.calls).toEqual([foreign, model].map((error) => ['sluice: a run failed:', error]));
    log.mockRestore();
  });

  test('and a log that fails changes nothing', async () => {
    const onError = (): never => {
      throw new Error('The disk is full');
    };
    expect(
      await toResponse(
        scriptedRun(() => failing(model)),
        {format: 'ndjson', onError},
      ).text(),
    ).toBe(`${JSON.stringify(busy)}\n`);
  });

  test('in a UI message stream with a code in the metadata', async () => {
    const {bytes} = await ends(model, 'ui-message-stream');
    expect(bytes.split('\n\n').slice(-6)).toEqual([
      'data: {"type":"finish-step"}',
      `data: {"type":"message-metadata","messageMetadata":{"error":{"code":"RESOURCE_EXHAUSTED","message":"${busy.error}","retryDelayMs":1500}}}`,
      `data: {"type":"error","errorText":"${busy.error}"}`,
      'data: {"type":"finish","finishReason":"error","messageMetadata":{}}',
      'data: [DONE]',
      '',
    ]);
  });

  test('also an Event that no JSON can hold', async () => {
    const logged: unknown[] = [];
    const run = scriptedRun(() => [{id: 'e1', partial: true, customMetadata: {n: 1n}}]);
    const response = toResponse(run, {format: 'ndjson', onError: (error) => logged.push(error)});
    expect(await response.text()).toBe('{"error":"internal error","code":"INTERNAL"}\n');
    expect(logged).toEqual([expect.any(TypeError)]);
    expect((await run.settled).kind).toBe('return');
  });

  test('a run that was stopped says so, whatever the reason', async () => {
    const stopped = '{"error":"The run was cancelled","code":"RUN_CANCELLED"}\n';
    for (const reason of [new RunCancelledError(), new DOMException('10.0.0.7 has left', 'AbortError'), 'why not']) {
      const run = scriptedRun(() => [said('Hi.')]);
      await run.throw(reason).catch(() => {});
      expect(await toResponse(run, {format: 'ndjson'}).text()).toBe(stopped);
    }
    const run = scriptedRun(() => [said('Hi.')]);
    await run.return();
    const bytes = await toResponse(run, {format: 'ui-message-stream'}).text();
    expect(bytes).toContain('data: {"type":"abort","reason":"The run was cancelled"}\n\ndata: [DONE]\n\n');
  });
});

test.each<[string, ConstructorParameters<typeof ModelError>[1]]>([
  ['The model takes no more requests at the moment', {code: 'RESOURCE_EXHAUSTED', status: 429}],
  ['The model takes no more requests at the moment', {code: 'rate_limit', status: 429, retryable: true}],
  ['The model takes no more requests at the moment', {code: 'RESOURCE_EXHAUSTED'}],
  ['The server has no access to the model', {code: 'PERMISSION_DENIED', status: 403}],
  ['The server has no access to the model', {code: 'UNAUTHENTICATED', status: 401}],
  ['The server has no access to the model', {code: 'NOT_FOUND', status: 404}],
  ['The server has no access to the model', {code: 'MISSING_API_KEY'}],
  ['The model is not available at the moment', {code: 'UNAVAILABLE', status: 503}],
  ['The model is not available at the moment', {code: 'CONNECTION_LOST', retryable: true, cause: new Error('10.0.0.7')}],
  ['The model is not available at the moment', {code: 'IDLE_TIMEOUT', retryable: true}],
  ['The model refused the request', {code: 'INVALID_ARGUMENT', status: 400}],
  ['The model refused the request', {code: 'POLICY_VIOLATION', closeCode: 1008}],
  ['The request to the model failed', {code: 'MODEL_FAILED', cause: new Error('secret')}],
  ['The request to the model failed', {code: 'PROTOCOL_ERROR'}],
])('clientError says "%s" for %o', (message, details) => {
  const {code} = details;
  expect(clientError(new ModelError('Key AIzaSy of owner@corp.example', details))).toEqual({code, message, hidden: true});
});

async function* failing(error: unknown): AsyncGenerator<CreateEventParams> {
  throw error;
}

describe('startResponse', () => {
  test('rejects with what ended the run before its first Event, and leaves nothing on the signal', async () => {
    const {runner} = await stage([]);
    const {signal} = new AbortController();
    const listen = vi.spyOn(signal, 'addEventListener');
    const unlisten = vi.spyOn(signal, 'removeEventListener');
    const run = runner.runAsync({userId: 'u', sessionId: 'unknown', newMessage: hello});
    await expect(startResponse(run, {signal})).rejects.toThrow(SessionNotFoundError);
    expect(listen.mock.calls.length).toBe(unlisten.mock.calls.length);
    await expect(startResponse(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: []}}))).rejects.toThrow(
      InvalidOptionError,
    );
  });

  test('gives a response when the first Event is there, and does not lose it', async () => {
    const run = scriptedRun(() => [said('Hi.', {id: 'e1'}), said('Bye.', {id: 'e2'})]);
    const response = await startResponse(run, {startMs: Infinity});
    expect((await response.text()).match(/"id":"e\d"/g)).toEqual(['"id":"e1"', '"id":"e2"']);
  });

  test('waits for a slow first Event no longer than startMs; a failure is the last message then', async () => {
    const late = Promise.withResolvers<CreateEventParams>();
    const run = scriptedRun(async function* () {
      yield await late.promise;
    });
    const response = await startResponse(run, {startMs: 5, onError: () => {}});
    late.reject(new Error('late'));
    expect(await response.text()).toContain('data: {"error":"internal error","code":"INTERNAL"}\n\n');
  });

  test('gives a response also to a client that left meanwhile', async () => {
    const client = new AbortController();
    const run = scriptedRun(async function* () {
      client.abort();
      yield await new Promise<never>(() => {});
    });
    const response = await startResponse(run, {signal: client.signal, startMs: Infinity});
    expect(await response.text()).toBe('');
    expect((await run.settled).kind).toBe('return');
  });
});

test('what cannot be used is refused at once', () => {
  const run = scriptedRun(() => []);
  expect(() => toResponse(run, {format: 'xml' as 'sse'})).toThrow('Expected `toResponse options.format` to be "sse" or "ndjson"');
  expect(() => toResponse(run, {heartbeatMs: 0})).toThrow('heartbeatMs');
  expect(() => toResponse(run, {onDisconect: 'abort'} as object)).toThrow('did you mean `onDisconnect`?');
  expect(() => toResponse({} as typeof run)).toThrow('Expected `run` to be a Run');
});
