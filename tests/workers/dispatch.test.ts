import {describe, expect, test, vi} from 'vitest';
import {FunctionTool, InMemoryRunner, LlmAgent, LongRunningFunctionTool, ToolExecutionMode, type Event, type RunConfig} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {sharedWorkerPool, WorkerPool} from 'sluice/workers';
import {expectNoListeners, expectValid, idle, line, stage, type StageOptions} from '../stories/kit.ts';
import {flag, module, workerTool} from './kit.ts';

const SUBSCRIBE: RunConfig = {toolExecutionMode: ToolExecutionMode.PARALLEL_SUBSCRIBE};
const responses = (events: readonly Event[]): string => events.map(line).find((it) => it.includes('=')) ?? '';

/** One step of calls, then a text; what the tools' names stand for is a flag of the test's in their arguments. */
function calling(names: readonly string[], options: StageOptions & {args?: Record<string, unknown>} = {}): ReturnType<typeof stage> {
  const {args = {}, agent, ...rest} = options;
  return stage({
    steps: [functionCalls(...names.map((name) => ({name, args: {}}))), 'done'],
    // What only a thread can be given: a model's arguments are JSON.
    agent: {beforeToolCallback: ({args: given}) => void Object.assign(given, args), ...agent},
    ...rest,
  });
}

describe('where a body runs', () => {
  const both = workerTool('thread', {execute: () => 'here'});

  test('with both bodies: on a thread in PARALLEL_SUBSCRIBE, else here', async () => {
    const here = await calling(['thread'], {agent: {tools: [both]}});
    expect(responses((await collect(here.run())).events)).toBe('root: thread={"result":"here"}');
    const there = await calling(['thread'], {agent: {tools: [both]}, runConfig: SUBSCRIBE});
    expect(responses((await collect(there.run())).events)).toMatch(/^root: thread=\{"result":\d+\}$/);
    await there.runner.close();
  });

  test('with a worker only: always on a thread', async () => {
    const it = await calling(['thread'], {agent: {tools: [workerTool('thread')]}});
    expect(responses((await collect(it.run())).events)).toMatch(/^root: thread=\{"result":\d+\}$/);
    await it.runner.close();
  });

  test('calls that block overlap on threads, while the event loop goes on, and answer in call order', async () => {
    const tools = ['a', 'b', 'c'].map((name) => new FunctionTool({name, description: 'Blocks.', worker: {module, export: 'blockUntil'}}));
    const [started, go] = [flag(), flag()];
    const it = await calling(['a', 'b', 'c'], {agent: {tools}, runConfig: SUBSCRIBE, args: {started: started.flag, go: go.flag}});
    const reading = collect(it.run());
    await started.reached(3);
    Atomics.store(go.flag, 0, 1);
    Atomics.notify(go.flag, 0);
    const {events} = await reading;
    expect(responses(events)).toMatch(/^root: a=\{"result":\d+\} b=\{"result":\d+\} c=\{"result":\d+\}$/);
    expect(it.diagnostics).toEqual([]);
    await it.runner.close();
  });

  test('an agent has the pool that it is given, of so many threads, and the shared one otherwise', async () => {
    const executor = new WorkerPool({maxThreads: 1});
    const it = await calling(['thread', 'thread', 'thread'], {agent: {tools: [workerTool('thread')], executor}});
    const {events} = await collect(it.run());
    expect(new Set(responses(events).match(/\d+/g)).size).toBe(1);
    expect([executor.threads, sharedWorkerPool.threads]).toEqual([1, 0]);
    await it.runner.close();
    expect(executor.threads).toBe(0);

    const shared = await calling(['thread'], {agent: {tools: [workerTool('thread')]}});
    await collect(shared.run());
    expect(sharedWorkerPool.threads).toBe(1);
    await shared.runner.close();
    expect(sharedWorkerPool.threads).toBe(0);
  });
});

describe('what crosses', () => {
  test.each(['date', 'url', 'map', 'bytes', 'error', 'bigint', 'nothing', 'part', 'parts', 'million', 'deep', 'deepMap', 'json', 'result'])(
    'a result that is (a) %s comes to the same as without a thread',
    async (what) => {
      const {gives} = await import('./bodies/bodies.ts');
      const tool = workerTool('gives', {execute: () => gives({what})});
      const seen: unknown[] = [];
      for (const runConfig of [{}, SUBSCRIBE]) {
        const it = await calling(['gives'], {agent: {tools: [tool]}, runConfig, args: {what}});
        const {events} = await collect(it.run());
        seen.push(events.flatMap((event) => event.content?.parts ?? []).find((part) => part.functionResponse)?.functionResponse);
        await it.runner.close();
      }
      const [here, there] = seen.map((it) => ({...(it as object), id: undefined}));
      expect(there).toEqual(here);
    },
  );

  test('a body that yields shows its progress, one Event at a time', async () => {
    const it = await calling(['count'], {agent: {tools: [workerTool('count')]}, args: {to: 2}});
    expect((await collect(it.run())).events.map(line)).toEqual([
      'root: count({})',
      'root: count={"n":1} [partial]',
      'root: count={"n":2} [partial]',
      'root: count={"result":"counted to 2"}',
      'root: "done"',
    ]);
    await it.runner.close();
  });

  test('the context has the ids, a signal, and a view of the state that refuses writes', async () => {
    const it = await calling(['seen', 'write'], {agent: {tools: [workerTool('seen'), workerTool('write')]}});
    const {events} = await collect(it.run('go', {stateDelta: {unit: 'C'}}));
    const [seen, written] = events.flatMap((event) => event.content?.parts ?? []).flatMap((part) => part.functionResponse ?? []);
    const invocationId = events[0]?.invocationId;
    const ids = {invocationId, agentName: 'root', userId: 'u', sessionId: 's', appName: 'app', functionCallId: seen?.id};
    expect(seen?.response).toEqual({aborted: false, state: {unit: 'C'}, unit: 'C', ids});
    expect(written?.response).toEqual({error: expect.stringContaining('`state` is read only on a worker thread; to set `n`')});
    await it.runner.close();
  });

  test('an error is told to the model by its message, and to hooks with its name and code', async () => {
    const errors: unknown[] = [];
    const agent = {
      tools: [workerTool('fail'), workerTool('failOddly')],
      onToolErrorCallback: ({error}: {error: unknown}) => void errors.push(error),
    };
    const it = await calling(['fail', 'failOddly'], {agent, args: {code: 'E_ORDER'}});
    const {events} = await collect(it.run());
    expect(responses(events)).toBe('root: fail={"error":"no such order"} failOddly={"error":"odd"}');
    expect(errors).toHaveLength(2);
    // The threads end in any order.
    expect(errors.find((error) => error instanceof RangeError)).toMatchObject({
      name: 'RangeError',
      code: 'E_ORDER',
      message: 'no such order',
    });
    await it.runner.close();
  });

  test.each(['failUnreadably', 'failWithoutName'] as const)('what is thrown by %s is told as without a thread', async (name) => {
    const bodies = await import('./bodies/bodies.ts');
    const told: string[] = [];
    for (const runConfig of [{}, SUBSCRIBE]) {
      const it = await calling([name], {agent: {tools: [workerTool(name, {execute: bodies[name]})]}, runConfig});
      told.push(responses((await collect(it.run())).events));
      await it.runner.close();
    }
    expect(told[1]).toBe(told[0]);
    expect(told[0]).toMatch(/"error":"(The tool failed, and what it threw cannot be read|nameless)"/);
  });

  test('a long-running tool gives what it has so far from its thread', async () => {
    const tool = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', worker: {module, export: 'tenantName'}});
    const it = await calling(['ask'], {agent: {tools: [tool]}});
    expect((await collect(it.run())).events.map(line).at(-1)).toBe('root: ask={"status":"pending"} [waits:1]');
    await it.runner.close();
  });
});

describe('what ends a body', () => {
  test.each(['spin', 'block', 'deaf', 'untilAborted'] as const)(
    'a stop ends %s, stores a valid session and leaves nothing',
    async (name) => {
      const running = flag();
      const executor = new WorkerPool();
      const it = await calling([name], {
        agent: {tools: [workerTool(name)], executor},
        args: {flag: running.flag},
        runConfig: {...SUBSCRIBE, abortGraceMs: 120},
      });
      const stop = new AbortController();
      const reading = collect(it.run('go', {abortSignal: stop.signal}));
      await running.reached();
      const reason = new Error('enough');
      stop.abort(reason);
      const {error, outcome} = await reading;
      expect(error).toBe(reason);
      expect(outcome).toMatchObject({kind: 'abort', abandoned: []});
      expectNoListeners(stop.signal);
      const stored = await it.stored();
      expectValid(stored);
      const ended =
        name === 'untilAborted'
          ? '{"result":"stopped by Error: enough"}'
          : '{"error":"cancelled; it may have taken effect","started":true}';
      expect(stored.map(line).at(-1)).toBe(`root: ${name}=${ended}`);
      expect(it.diagnostics).toEqual([]);
      await it.runner.close();
      expect(executor.threads).toBe(0);
    },
  );

  test('its own deadline ends it alone, and what waits for a thread has not started', async () => {
    const running = flag();
    const tools = [workerTool('spin', {timeoutMs: 1_000}), workerTool('echo', {timeoutMs: 5_000})];
    const it = await calling(['spin', 'echo'], {agent: {tools, executor: new WorkerPool({maxThreads: 1})}, args: {flag: running.flag}});
    const {events, outcome} = await collect(it.run());
    expect(responses(events)).toMatch(/^root: spin=\{"error":"The tool `spin` did not end within 1000 ms"\} echo=\{"flag":/);
    expect(outcome).toMatchObject({kind: 'done', abandoned: []});
    await it.runner.close();
  });

  test('a call that waits for a thread when the run is stopped is told as not started', async () => {
    const running = flag();
    const it = await calling(['spin', 'echo'], {
      agent: {tools: [workerTool('spin'), workerTool('echo')], executor: new WorkerPool({maxThreads: 1})},
      args: {flag: running.flag},
    });
    const run = it.run();
    const reading = collect(run);
    await running.reached();
    await run.return();
    await reading;
    expect((await it.stored()).map(line).at(-1)).toBe(
      'root: spin={"error":"cancelled; it may have taken effect","started":true} echo={"error":"cancelled","started":false}',
    );
    await it.runner.close();
  });

  test('a call whose thread still starts when the run is stopped is told as not started', async () => {
    const executor = new WorkerPool();
    const it = await calling(['echo'], {agent: {tools: [workerTool('echo')], executor}});
    const run = it.run();
    const reading = collect(run);
    while (executor.threads === 0) await idle();
    await run.return();
    await reading;
    expect((await it.stored()).map(line).at(-1)).toBe('root: echo={"error":"cancelled","started":false}');
    await it.runner.close();
    expect(executor.threads).toBe(0);
  });

  test('nothing, thrown where nobody catches it, is an error of the call', async () => {
    const it = await calling(['failWithNothing'], {agent: {tools: [workerTool('failWithNothing')]}});
    expect(responses((await collect(it.run())).events)).toBe(
      'root: failWithNothing={"error":"The tool `failWithNothing` lost its worker thread: null"}',
    );
    await it.runner.close();
  });

  test('its thread ending under it is an error of the call', async () => {
    const it = await calling(['exit', 'echo'], {agent: {tools: [workerTool('exit'), workerTool('echo')]}, args: {n: 1}});
    expect(responses((await collect(it.run())).events)).toBe(
      'root: exit={"error":"The tool `exit` lost its worker thread: it has ended by itself (exit code 3)"} echo={"n":1}',
    );
    await it.runner.close();
  });
});

describe('bad input names the tool', () => {
  const run = async (tool: FunctionTool, args: Record<string, unknown> = {}): Promise<string> => {
    const it = await calling([tool.name], {agent: {tools: [tool]}, args});
    const {events} = await collect(it.run());
    await it.runner.close();
    return responses(events);
  };
  const made = (worker: {module: URL | string; export: string}): FunctionTool =>
    new FunctionTool({name: 'get_order', description: 'An order.', worker});

  test('a module that does not exist', async () => {
    const missing = new URL('./bodies/missing.ts', import.meta.url);
    expect(await run(made({module: missing, export: 'getOrder'}))).toContain(
      `The tool \`get_order\` cannot load its worker module ${missing.href}: Cannot find module`,
    );
  });

  test('an export that is a class', async () => {
    expect(await run(made({module, export: 'notABody'}))).toMatch(
      /The tool `get_order` needs a function `notABody` of .*, got the class notABody;/,
    );
  });

  test('an export that is no function, or is not there', async () => {
    expect(await run(made({module, export: 'notAFunction'}))).toContain('The tool `get_order` needs a function `notAFunction` of file:');
    expect(await run(made({module: module.href, export: 'getOrder'}))).toMatch(
      /needs a function `getOrder` of .*, got undefined; the module exports block, /,
    );
  });

  test('arguments that cannot be cloned', async () => {
    expect(await run(workerTool('echo'), {callback: () => {}})).toMatch(
      /The tool `echo` runs on a worker thread, and its arguments cannot be cloned: .* could not be cloned/,
    );
  });

  test.each([
    ['function', 'gave a function in `call`'],
    ['symbol', 'gave a symbol'],
  ])('a result that holds a %s', async (what, text) => {
    expect(await run(workerTool('gives'), {what})).toContain(`the tool \`gives\` ${text}`);
  });

  test('a module that starts a run while it loads', async () => {
    expect(await run(made({module: new URL('./bodies/application.ts', import.meta.url), export: 'body'}))).toContain(
      'A run was started on a worker thread, outside of any tool body',
    );
    expect(await run(made({module: new URL('./bodies/starts-a-run.ts', import.meta.url), export: 'nested'}))).toBe(
      'root: get_order={"result":["hello"]}',
    );
  });

  test.each([
    {module: './orders.js', export: 'a'},
    {module: 'orders', export: 'a'},
    {module: 'C:\\orders.js', export: 'a'},
    {module, export: ''},
    {module},
  ])('the worker %j is refused when the tool is made', (worker) => {
    expect(() => made(worker as never)).toThrow(expect.objectContaining({code: 'INVALID_OPTION', option: 'get_order.worker'}));
  });

  test('an executor that is none, and a tool without a body', () => {
    const model = new ScriptedLlm({steps: []});
    expect(() => new LlmAgent({name: 'a', model, executor: {} as never})).toThrow(expect.objectContaining({option: 'a.executor'}));
    expect(() => new FunctionTool({name: 'none', description: ''})).toThrow(expect.objectContaining({option: 'none.execute'}));
  });
});

test('runs of two runners share a pool, and closing one leaves the other its calls', async () => {
  const [started, go] = [flag(), flag()];
  const executor = new WorkerPool();
  const one = await calling(['blockUntil'], {
    agent: {tools: [workerTool('blockUntil')], executor},
    args: {started: started.flag, go: go.flag},
  });
  const other = await calling(['echo'], {agent: {tools: [workerTool('echo')], executor}, args: {n: 1}});
  const reading = collect(one.run());
  await started.reached();
  expect(responses((await collect(other.run())).events)).toBe('root: echo={"n":1}');
  await other.runner.close();
  Atomics.store(go.flag, 0, 1);
  Atomics.notify(go.flag, 0);
  expect(responses((await reading).events)).toMatch(/^root: blockUntil=\{"result":\d+\}$/);
  await one.runner.close();
  await vi.waitUntil(() => executor.threads === 0);
});

test('a run in PARALLEL_SUBSCRIBE without worker tools starts no thread', async () => {
  const agent = new LlmAgent({
    name: 'root',
    model: new ScriptedLlm({steps: [functionCalls({name: 'plain', args: {}}), 'done']}),
    tools: [new FunctionTool({name: 'plain', description: '', execute: () => 1})],
  });
  await using runner = new InMemoryRunner({agent, appName: 'app', runConfig: SUBSCRIBE});
  await collect(runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}}));
  expect([agent.executor, sharedWorkerPool.threads]).toEqual([undefined, 0]);
});
