import {AsyncLocalStorage} from 'node:async_hooks';
import {expect, test} from 'vitest';
import {FunctionTool, StreamingMode} from 'sluice';
import {deltas, functionCalls, text} from 'sluice/testing';
import {z} from 'zod';
import {expectValid, idle, line, lines, stage} from './kit.ts';

const echo = new FunctionTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: z.object({say: z.string()}),
  execute: async ({say}) => say,
});

test('runAsync() does nothing before the first next()', async () => {
  const it = await stage({steps: ['hello']});
  it.run();
  await idle();
  expect(it.model.calls).toBe(0);
  expect(await it.stored()).toEqual([]);
});

test('a run yields the call, one event of all responses in call order, then the answer, and stores them after the user message', async () => {
  const it = await stage({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'echo', args: {say: 'b'}}), 'done'],
    agent: {tools: [echo]},
  });
  expect(await lines(it.run('hi'))).toEqual([
    'root: echo({"say":"a"}) echo({"say":"b"})',
    'root: echo={"result":"a"} echo={"result":"b"}',
    'root: "done"',
  ]);
  expect((await it.stored()).map(line)).toEqual([
    'user: "hi"',
    'root: echo({"say":"a"}) echo({"say":"b"})',
    'root: echo={"result":"a"} echo={"result":"b"}',
    'root: "done"',
  ]);
  expectValid(await it.stored());
  it.model.assertComplete();
});

test('a streamed run yields partial events, then the whole one under the same id, and stores the whole one only', async () => {
  const it = await stage({steps: [deltas('Good ', 'day')], runConfig: {streamingMode: StreamingMode.SSE}});
  const events = [];
  for await (const event of it.run()) events.push(event);
  expect(events.map(line)).toEqual(['root: "Good " [partial]', 'root: "day" [partial]', 'root: "Good day"']);
  expect(new Set(events.map(({id}) => id)).size).toBe(1);
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "Good day"']);
});

test('a run does no more than the step that its reader asked for', async () => {
  const it = await stage({steps: [functionCalls({name: 'echo', args: {say: 'a'}}), 'done'], agent: {tools: [echo]}});
  const run = it.run();
  expect(line((await run.next()).value!)).toBe('root: echo({"say":"a"})');
  await idle();
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: echo({"say":"a"})']);
  expect(line((await run.next()).value!)).toBe('root: echo={"result":"a"}');
  await idle();
  expect(it.model.calls).toBe(1);
  await run.return();
});

test('an event is stored before it is yielded, and the next request holds it', async () => {
  const it = await stage({steps: [functionCalls({name: 'echo', args: {say: 'a'}}), 'done'], agent: {tools: [echo]}});
  for await (const event of it.run()) expect((await it.stored()).at(-1)?.id).toBe(event.id);
  expect(it.model.requests[1]?.contents.map(({role, parts}) => [role, parts?.map((part) => Object.keys(part)[0])])).toEqual([
    ['user', ['text']],
    ['model', ['functionCall']],
    ['user', ['functionResponse']],
  ]);
});

test('a reader that changes what it gets changes neither the session nor the calls', async () => {
  const it = await stage({steps: [functionCalls({name: 'echo', args: {say: 'a'}}), 'done'], agent: {tools: [echo]}});
  for await (const event of it.run()) {
    const part = event.content?.parts?.[0];
    if (part?.functionCall?.args) part.functionCall.args['say'] = 'changed';
    if (part?.functionResponse?.response) part.functionResponse.response['result'] = 'changed';
    if (part?.text) part.text = 'changed';
  }
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: echo({"say":"a"})', 'root: echo={"result":"a"}', 'root: "done"']);
});

test('a generator body shows its progress as partial events between call and response, one at a time', async () => {
  const steps: string[] = [];
  const count = new FunctionTool({
    name: 'count',
    description: 'Counts.',
    async *execute() {
      for (const n of [1, 2]) {
        steps.push(`before ${n}`);
        yield n;
        steps.push(`after ${n}`);
      }
      return 'counted';
    },
  });
  const it = await stage({steps: [functionCalls({name: 'count'}), 'done'], agent: {tools: [count]}});
  const run = it.run();
  await run.next();
  expect(line((await run.next()).value!)).toBe('root: count={"result":1} [partial]');
  await idle();
  expect(steps).toEqual(['before 1', 'after 1', 'before 2']);
  expect(await lines(run)).toEqual(['root: count={"result":2} [partial]', 'root: count={"result":"counted"}', 'root: "done"']);
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: count({})', 'root: count={"result":"counted"}', 'root: "done"']);
});

test('model, tools, hooks and instruction see the async context of the runAsync() call, whoever calls next()', async () => {
  const storage = new AsyncLocalStorage<string>();
  const seen: Record<string, string | undefined> = {};
  const note = (who: string): undefined => void (seen[who] = storage.getStore());
  const spy = new FunctionTool({name: 'spy', description: 'Looks.', execute: () => note('tool')});
  const it = await stage({
    steps: [() => (note('model'), functionCalls({name: 'spy'})), text('done')],
    agent: {
      tools: [spy],
      instruction: () => (note('instruction'), ''),
      beforeAgentCallback: () => note('beforeAgent'),
      afterAgentCallback: () => note('afterAgent'),
      beforeModelCallback: () => note('beforeModel'),
      afterToolCallback: () => note('afterTool'),
    },
  });
  const run = storage.run('caller', () => it.run());
  await storage.run('reader', () => lines(run));
  expect(new Set(Object.values(seen))).toEqual(new Set(['caller']));
  expect(Object.keys(seen).toSorted()).toEqual(['afterAgent', 'afterTool', 'beforeAgent', 'beforeModel', 'instruction', 'model', 'tool']);
});

test('a call id stays the same from the partial event to the whole one, and a repeated id is made unique', async () => {
  const call = {functionCall: {name: 'echo', args: {say: 'a'}}};
  const same = {functionCall: {id: 'c1', name: 'echo', args: {say: 'b'}}};
  const partial = {partial: true, content: {role: 'model', parts: [call]}};
  const it = await stage({
    steps: [
      [partial, {content: {role: 'model', parts: [call]}}],
      {content: {role: 'model', parts: [same, same]}},
      functionCalls({id: 'c1', name: 'echo', args: {say: 'c'}}),
      'done',
    ],
    agent: {tools: [echo]},
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  const events = [];
  for await (const event of it.run()) events.push(event);
  const ids = events.map((event) => event.content?.parts?.flatMap((part) => part.functionCall?.id ?? part.functionResponse?.id ?? []));
  expect(ids[0]).toEqual(ids[1]);
  const whole = ids
    .slice(1)
    .filter((_, index) => index % 2 === 0)
    .flat();
  expect(new Set(whole).size).toBe(whole.length);
  expect(ids[3]?.[0]).toBe('c1');
  expectValid(await it.stored());
});
