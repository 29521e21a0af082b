import {expect, test} from 'vitest';
import {BaseToolset, FunctionTool, InMemoryRunner, LlmAgent, type BaseTool, type Event} from 'sluice';
import {createHandler} from 'sluice/serve';
import {functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {expectValid, line} from '../stories/kit.ts';
import {gate, saying, SESSION, site, sseData} from './kit.ts';

test('close refuses new runs with 503 and waits for those under way; sessions can still be read', async () => {
  const [asked, answer] = [gate(), gate<string>()];
  const it = await site({steps: [() => (asked.resolve(), answer.promise), 'never']});
  const running = it.ask('POST', '/run', saying('go'));
  await asked.promise;
  const closing = it.handler.close({timeoutMs: Infinity});
  for (const [method, path, body] of [
    ['POST', '/run', saying('late')],
    ['POST', '/run_sse', saying('late')],
    ['GET', '/health', undefined],
  ] as const) {
    const response = await it.ask(method, path, body);
    expect([response.status, response.headers.get('retry-after')]).toEqual([503, '5']);
    expect(await response.json()).toMatchObject({code: 'CLOSING'});
  }
  const live = {headers: {upgrade: 'websocket'}};
  expect((await it.ask('GET', '/run_live?app_name=app&user_id=u&session_id=s', undefined, live)).status).toBe(503);
  expect((await it.ask('GET', SESSION)).status).toBe(200);
  answer.resolve('done');
  expect(((await (await running).json()) as Event[]).map(line)).toEqual(['root: "done"']);
  await closing;
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "done"']);
  expect(it.errors).toEqual([]);
});

test('what still runs at the deadline is stopped, with its session valid and its client told', async () => {
  const begun = gate();
  const wait = new FunctionTool({name: 'wait', description: 'Waits.', execute: () => (begun.resolve(), new Promise<never>(() => {}))});
  const it = await site({
    steps: [functionCalls({name: 'wait', args: {}}), 'never'],
    agent: {tools: [wait]},
    runConfig: {abortGraceMs: 10},
    onDiagnostic: () => {},
  });
  const response = await it.ask('POST', '/run_sse', saying('go'));
  const text = response.text();
  await begun.promise;
  await it.handler.close({timeoutMs: 10});
  expect(sseData(await text).at(-1)).toMatchObject({code: 'RUNNER_CLOSED'});
  const stored = await it.stored();
  expectValid(stored);
  expect(stored).toHaveLength(3);
});

test('a request that was on its way when the handler closed gets 503', async () => {
  const it = await site({steps: ['never']});
  const body = gate<ReadableStreamDefaultController<Uint8Array>>();
  const answer = it.ask('POST', '/run', new ReadableStream({start: (controller) => body.resolve(controller)}));
  const controller = await body.promise;
  await it.handler.close();
  controller.enqueue(new TextEncoder().encode(JSON.stringify(saying('go'))));
  controller.close();
  expect((await answer).status).toBe(503);
  expect([it.model.calls, it.errors]).toEqual([0, []]);
});

class CountingToolset extends BaseToolset {
  closed = 0;

  override getTools(): Promise<BaseTool[]> {
    return Promise.resolve([]);
  }

  override close(): Promise<void> {
    this.closed++;
    return Promise.resolve();
  }
}

test('closing is done once, closes toolsets, also those of a runner that was given, and never rejects', async () => {
  const toolset = new CountingToolset();
  const agent = new LlmAgent({name: 'root', model: new ScriptedLlm(), tools: [toolset]});
  const handler = createHandler({runner: new InMemoryRunner({agent, appName: 'app'})});
  const first = handler.close();
  expect(handler.close({timeoutMs: 1})).toBe(first);
  await first;
  await handler[Symbol.asyncDispose]();
  expect(toolset.closed).toBe(1);
});

test('a deadline of 0 stops what runs at once', async () => {
  const asked = gate();
  const it = await site({steps: [() => (asked.resolve(), hang())], runConfig: {abortGraceMs: 10}});
  const running = it.ask('POST', '/run', saying('go'));
  await asked.promise;
  const closed = it.handler.close({timeoutMs: 0});
  expect((await running).status).toBe(503);
  await closed;
});
