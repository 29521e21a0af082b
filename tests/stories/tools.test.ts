import {expect, test, vi} from 'vitest';
import {
  ContextRevokedError,
  FunctionTool,
  LongRunningFunctionTool,
  ToolExecutionMode,
  ToolTimeoutError,
  type Context,
  type Event,
} from 'sluice';
import {collect, functionCalls} from 'sluice/testing';
import {z} from 'zod';
import {expectValid, idle, line, stage} from './kit.ts';

/** A tool whose calls wait until the test lets them go, by their argument. */
function held(name = 'held', options: object = {}): {tool: FunctionTool; started: number[]; finish: Map<number, (value: unknown) => void>} {
  const started: number[] = [];
  const finish = new Map<number, (value: unknown) => void>();
  const tool = new FunctionTool({
    name,
    description: 'Waits.',
    parameters: z.object({n: z.number()}),
    execute: ({n}) => {
      started.push(n);
      return new Promise((resolve) => finish.set(n, resolve));
    },
    ...options,
  });
  return {tool, started, finish};
}

const calls = (name: string, count: number) => functionCalls(...Array.from({length: count}, (_, n) => ({name, args: {n}})));
const results = (events: Event[]) => events.map(line).find((it) => it.includes('=')) ?? '';

test('parallel calls run at once, and their responses stand in call order whichever ends first', async () => {
  const {tool, started, finish} = held();
  const it = await stage({steps: [calls('held', 3), 'done'], agent: {tools: [tool]}});
  const reading = collect(it.run());
  await vi.waitUntil(() => started.length === 3);
  for (const n of [2, 0, 1]) finish.get(n)?.(n * 10);
  expect(results((await reading).events)).toBe('root: held={"result":0} held={"result":10} held={"result":20}');
});

test('SEQUENTIAL runs one call at a time, in call order', async () => {
  const {tool, started, finish} = held();
  const it = await stage({
    steps: [calls('held', 3), 'done'],
    agent: {tools: [tool]},
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
  });
  const reading = collect(it.run());
  for (const n of [0, 1, 2]) {
    await vi.waitUntil(() => started.length === n + 1);
    await idle();
    expect(started).toHaveLength(n + 1);
    finish.get(n)?.(n);
  }
  expect(results((await reading).events)).toBe('root: held={"result":0} held={"result":1} held={"result":2}');
});

test('no more than maxConcurrentTools run at a time, and every call runs', async () => {
  let now = 0;
  let most = 0;
  const tool = new FunctionTool({
    name: 'busy',
    description: 'Is busy.',
    execute: async () => {
      most = Math.max(most, ++now);
      await idle();
      now--;
      return 'ok';
    },
  });
  const it = await stage({
    steps: [functionCalls(...Array.from({length: 50}, () => ({name: 'busy'}))), 'done'],
    agent: {tools: [tool]},
    runConfig: {maxConcurrentTools: 4},
  });
  const {events} = await collect(it.run());
  expect(most).toBe(4);
  expect(events[1]?.content?.parts).toHaveLength(50);
});

test('the default cap on concurrent tools is finite', async () => {
  const {tool, started, finish} = held();
  const it = await stage({steps: [calls('held', 12), 'done'], agent: {tools: [tool]}});
  const reading = collect(it.run());
  await vi.waitUntil(() => started.length === 10);
  await idle();
  expect(started).toHaveLength(10);
  for (const n of started.slice()) finish.get(n)?.(n);
  await vi.waitUntil(() => started.length === 12);
  for (const n of [10, 11]) finish.get(n)?.(n);
  await reading;
});

test('an exclusive call runs alone: after those before it, and before those after it', async () => {
  const order: string[] = [];
  const step = (name: string, exclusive: boolean) =>
    new FunctionTool({
      name,
      description: name,
      exclusive,
      execute: async () => {
        order.push(`${name} starts`);
        await idle();
        order.push(`${name} ends`);
      },
    });
  const it = await stage({
    steps: [functionCalls({name: 'a'}, {name: 'b'}, {name: 'only'}, {name: 'c'}), 'done'],
    agent: {tools: [step('a', false), step('b', false), step('only', true), step('c', false)]},
  });
  await collect(it.run());
  expect(order).toEqual(['a starts', 'b starts', 'a ends', 'b ends', 'only starts', 'only ends', 'c starts', 'c ends']);
});

test('one call that throws touches neither its siblings nor the run', async () => {
  const tool = new FunctionTool({
    name: 'odd',
    description: 'Throws for odd numbers.',
    parameters: z.object({n: z.number()}),
    execute: async ({n}) => {
      if (n % 2 === 1) throw new Error(`${n} is odd`);
      return n;
    },
  });
  const it = await stage({steps: [calls('odd', 3), 'done'], agent: {tools: [tool]}});
  const {events, outcome} = await collect(it.run());
  expect(results(events)).toBe('root: odd={"result":0} odd={"error":"1 is odd"} odd={"result":2}');
  expect(outcome.kind).toBe('done');
});

test.each([
  ['undefined', undefined],
  ['null', null],
  ['a string', 'bang'],
  ['a symbol', Symbol('odd')],
  ['an object', {code: 7}],
])('a body that throws %s is answered with an error text', async (_, thrown) => {
  const tool = new FunctionTool({
    name: 'throws',
    description: 'Throws.',
    execute: () => {
      throw thrown;
    },
  });
  const it = await stage({steps: [functionCalls({name: 'throws'}), 'done'], agent: {tools: [tool]}});
  const {events} = await collect(it.run());
  const response = events[1]?.content?.parts?.[0]?.functionResponse?.response;
  expect(response).toEqual({error: expect.stringMatching(/./)});
});

test('bad arguments are refused without running the body, and an unknown name is answered with the names there are', async () => {
  const ran: unknown[] = [];
  const tool = new FunctionTool({
    name: 'strict',
    description: 'Is strict.',
    parameters: z.object({n: z.number()}),
    execute: (args) => void ran.push(args),
  });
  const it = await stage({
    steps: [functionCalls({name: 'strict', args: {n: 'one'}}, {name: 'nope', args: {}}), 'done'],
    agent: {tools: [tool]},
  });
  const {events, outcome} = await collect(it.run());
  const parts = events[1]?.content?.parts ?? [];
  expect(ran).toEqual([]);
  expect(parts[0]?.functionResponse?.response).toEqual({error: expect.stringContaining('n')});
  expect(parts[1]?.functionResponse?.response).toEqual({error: 'There is no tool `nope`. The tools are: strict'});
  expect(outcome.kind).toBe('done');
  expectValid(await it.stored());
});

test('a call that passes its deadline is answered with a timeout; its signal fires, its siblings and the run go on', async () => {
  vi.useFakeTimers();
  try {
    const signals: AbortSignal[] = [];
    const slow = new FunctionTool({
      name: 'slow',
      description: 'Hangs.',
      timeoutMs: 50,
      execute: (_args, {abortSignal}) => {
        signals.push(abortSignal);
        return new Promise(() => {});
      },
    });
    const quick = new FunctionTool({name: 'quick', description: 'Answers.', execute: () => 'here'});
    const it = await stage({steps: [functionCalls({name: 'slow'}, {name: 'quick'}), 'done'], agent: {tools: [slow, quick]}});
    const reading = collect(it.run());
    await vi.advanceTimersByTimeAsync(50);
    expect(signals[0]?.reason).toBeInstanceOf(ToolTimeoutError);
    await vi.advanceTimersByTimeAsync(250);
    const {events, outcome} = await reading;
    expect(results(events)).toBe('root: slow={"error":"The tool `slow` did not end within 50 ms"} quick={"result":"here"}');
    expect(outcome).toMatchObject({kind: 'done', abandoned: ['slow']});
    expect(it.diagnostics).toMatchObject([{code: 'TOOL_ABANDONED', name: 'slow'}]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a value that comes in the grace after the deadline still counts', async () => {
  vi.useFakeTimers();
  try {
    const tool = new FunctionTool({
      name: 'late',
      description: 'Saves what it has.',
      timeoutMs: 50,
      execute: (_args, {abortSignal}) =>
        new Promise((resolve) => abortSignal.addEventListener('abort', () => setTimeout(resolve, 100, 'saved'))),
    });
    const it = await stage({steps: [functionCalls({name: 'late'}), 'done'], agent: {tools: [tool]}});
    const reading = collect(it.run());
    await vi.advanceTimersByTimeAsync(150);
    expect(results((await reading).events)).toBe('root: late={"result":"saved"}');
    expect(it.diagnostics).toEqual([]);
  } finally {
    vi.useRealTimers();
  }
});

test('the clock of a call starts with its body, not in the queue', async () => {
  vi.useFakeTimers();
  try {
    const tool = new FunctionTool({
      name: 'wait',
      description: 'Waits.',
      timeoutMs: 50,
      execute: () => new Promise((resolve) => setTimeout(resolve, 40, 'ok')),
    });
    const it = await stage({
      steps: [functionCalls({name: 'wait'}, {name: 'wait'}, {name: 'wait'}), 'done'],
      agent: {tools: [tool]},
      runConfig: {maxConcurrentTools: 1},
    });
    const reading = collect(it.run());
    await vi.advanceTimersByTimeAsync(120);
    expect(results((await reading).events)).toBe('root: wait={"result":"ok"} wait={"result":"ok"} wait={"result":"ok"}');
  } finally {
    vi.useRealTimers();
  }
});

test('an abandoned call can write nothing: its context keeps its signal and ids, all else throws', async () => {
  vi.useFakeTimers();
  try {
    let kept: Context | undefined;
    let keptState: Context['state'] | undefined;
    const tool = new FunctionTool({
      name: 'deaf',
      description: 'Ignores its signal.',
      timeoutMs: 50,
      execute: (_args, context) => {
        kept = context;
        keptState = context.state;
        context.state.set('early', 1);
        return new Promise(() => {});
      },
    });
    const it = await stage({steps: [functionCalls({id: 'c1', name: 'deaf'}), 'done'], agent: {tools: [tool]}});
    const reading = collect(it.run());
    await vi.advanceTimersByTimeAsync(300);
    await reading;
    expect(kept?.abortSignal.aborted).toBe(true);
    expect(kept?.functionCallId).toBe('c1');
    expect(() => kept?.state).toThrow(ContextRevokedError);
    expect(() => keptState?.set('late', 1)).toThrow(ContextRevokedError);
    expect(await it.state()).toEqual({});
  } finally {
    vi.useRealTimers();
  }
});

test('a call reads the state as of the start of its batch, and deltas merge in call order with a diagnostic on a conflict', async () => {
  const seen: unknown[] = [];
  const tool = new FunctionTool({
    name: 'write',
    description: 'Writes.',
    parameters: z.object({n: z.number()}),
    execute: async ({n}, {state}) => {
      seen.push(state.get('last'));
      state.set('last', n);
      state.set(`own${n}`, state.get('last'));
      await idle();
    },
  });
  const it = await stage({steps: [calls('write', 2), 'done'], agent: {tools: [tool]}});
  await collect(it.run());
  expect(seen).toEqual([undefined, undefined]);
  expect(await it.state()).toEqual({last: 1, own0: 0, own1: 1});
  expect(it.diagnostics).toMatchObject([{code: 'STATE_CONFLICT', name: 'last'}]);
});

test('in SEQUENTIAL and behind an exclusive call, a call sees what those before it wrote', async () => {
  const make = (exclusive: boolean) =>
    new FunctionTool({
      name: 'count',
      description: 'Counts.',
      exclusive,
      execute: (_args, {state}) => {
        state.set('n', state.get('n', 0) + 1);
        return state.get('n');
      },
    });
  const three = functionCalls({name: 'count'}, {name: 'count'}, {name: 'count'});
  const one = await stage({
    steps: [three, 'done'],
    agent: {tools: [make(false)]},
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
  });
  expect(results((await collect(one.run())).events)).toBe('root: count={"result":1} count={"result":2} count={"result":3}');
  const two = await stage({steps: [three, 'done'], agent: {tools: [make(true)]}});
  expect(results((await collect(two.run())).events)).toBe('root: count={"result":1} count={"result":2} count={"result":3}');
});

test('a tool that throws keeps the state that it wrote', async () => {
  const tool = new FunctionTool({
    name: 'half',
    description: 'Fails half way.',
    execute: (_args, {state}) => {
      state.set('half', true);
      throw new Error('half way');
    },
  });
  const it = await stage({steps: [functionCalls({name: 'half'}), 'done'], agent: {tools: [tool]}});
  await collect(it.run());
  expect(await it.state()).toEqual({half: true});
});

test('every call gets its own deep copy of its arguments', async () => {
  const shared = {list: [1]};
  const tool = new FunctionTool({
    name: 'push',
    description: 'Changes its arguments.',
    parameters: {type: 'object', properties: {list: {type: 'array'}}},
    execute: (args) => {
      const {list} = args as {list: number[]};
      list.push(2);
      return list.length;
    },
  });
  const it = await stage({
    steps: [functionCalls({name: 'push', args: shared}, {name: 'push', args: shared}), 'done'],
    agent: {tools: [tool]},
  });
  const {events} = await collect(it.run());
  expect(results(events)).toBe('root: push={"result":2} push={"result":2}');
  expect((await it.stored()).map(line)[1]).toBe('root: push({"list":[1]}) push({"list":[1]})');
});

test('hooks around a tool run in order; the first result wins, and replaces arguments, response or error', async () => {
  const order: string[] = [];
  const tool = new FunctionTool({
    name: 'work',
    description: 'Works.',
    parameters: z.object({n: z.number()}),
    execute: ({n}) => {
      order.push(`body ${n}`);
      if (n === 2) throw new Error('two');
      return {n};
    },
  });
  const it = await stage({
    steps: [calls('work', 3), 'done'],
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
    agent: {
      tools: [tool],
      beforeToolCallback: [
        ({args}) => (order.push(`before ${String(args['n'])}`), args['n'] === 0 ? {from: 'before'} : undefined),
        () => void order.push('second'),
      ],
      afterToolCallback: ({args, response}) => (
        order.push(`after ${String(args['n'])}`),
        args['n'] === 1 ? {...response, seen: true} : undefined
      ),
      onToolErrorCallback: ({error}) => (order.push(`error ${(error as Error).message}`), {from: 'onError'}),
    },
  });
  const {events} = await collect(it.run());
  expect(results(events)).toBe('root: work={"from":"before"} work={"n":1,"seen":true} work={"from":"onError"}');
  expect(order).toEqual([
    'before 0',
    'after 0',
    'before 1',
    'second',
    'body 1',
    'after 1',
    'before 2',
    'second',
    'body 2',
    'error two',
    'after 2',
  ]);
});

test('a hook that throws stops its siblings first, and their calls are answered', async () => {
  let signal: AbortSignal | undefined;
  const slow = new FunctionTool({
    name: 'slow',
    description: 'Waits for its signal.',
    execute: (_args, {abortSignal}) => {
      signal = abortSignal;
      return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    },
  });
  const bad = new FunctionTool({name: 'bad', description: 'Has a bad hook.', execute: () => 1});
  const it = await stage({
    steps: [functionCalls({name: 'slow'}, {name: 'bad'})],
    agent: {
      tools: [slow, bad],
      afterToolCallback: ({tool}) => {
        if (tool.name === 'bad') throw new Error('hook');
        return undefined;
      },
    },
  });
  const {error} = await collect(it.run());
  expect(error).toMatchObject({name: 'HookError', hook: 'afterToolCallback'});
  expect(signal?.aborted).toBe(true);
  expect((await it.stored()).map(line).at(-1)).toBe(
    'root: slow={"error":"cancelled; it may have taken effect","started":true} bad={"error":"cancelled; it may have taken effect","started":true}',
  );
});

test('skipSummarization ends the run with the response', async () => {
  const tool = new FunctionTool({
    name: 'final',
    description: 'Has the last word.',
    execute: (_args, {actions}) => {
      actions.skipSummarization = true;
      return 'that is all';
    },
  });
  const it = await stage({steps: [functionCalls({name: 'final'}), 'unused'], agent: {tools: [tool]}});
  const {events, outcome} = await collect(it.run());
  expect(events.map(line)).toEqual(['root: final({})', 'root: final={"result":"that is all"}']);
  expect(outcome.kind).toBe('done');
});

test.each([
  ['in SEQUENTIAL mode', {toolExecutionMode: ToolExecutionMode.SEQUENTIAL}, false],
  ['across an exclusive one', {}, true],
])('calls that build on each other %s are no conflict', async (_, runConfig, exclusive) => {
  const count = new FunctionTool({
    name: 'count',
    description: 'Counts.',
    exclusive,
    execute: (_args, {state}) => state.set('n', state.get('n', 0) + 1),
  });
  const it = await stage({steps: [functionCalls({name: 'count'}, {name: 'count'}), 'done'], agent: {tools: [count]}, runConfig});
  await collect(it.run());
  expect([await it.state(), it.diagnostics]).toEqual([{n: 2}, []]);
});

test('a run that waits says so in its last Event, also where a callback behind the agent has the last word', async () => {
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => undefined});
  const words = [{parts: [{text: 'Bye.'}]}, undefined];
  const it = await stage({
    steps: [functionCalls({id: 'o1', name: 'order'}), functionCalls({id: 'o2', name: 'order'}), 'done'],
    agent: {
      tools: [order],
      afterAgentCallback: ({state}) => {
        state.set('left', true);
        return words.shift();
      },
    },
  });
  for (const last of ['root: "Bye." [waits:1]', 'root:  [waits:1]']) {
    const {events, outcome} = await collect(it.run('order'));
    expect(events.map(line).at(-1)).toBe(last);
    expect(outcome.kind).toBe('waiting');
  }
  const {events, outcome} = await collect(it.run('never mind'));
  expect([...events.map(line), outcome.kind]).toEqual(['root: "done"', 'root: ', 'done']);
});

test('a run with a long-running call ends waiting; the answer continues it, and siblings are never run again', async () => {
  let free = 0;
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => undefined});
  const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => ++free});
  const it = await stage({
    steps: [functionCalls({id: 'o1', name: 'order'}, {id: 'l1', name: 'look'}, {id: 'o2', name: 'order'}), 'all there'],
    agent: {tools: [order, look]},
  });
  const first = await collect(it.run('order two'));
  expect(first.events.map(line)).toEqual([
    'root: order({}) look({}) order({}) [waits:2]',
    'root: order={"status":"pending"} look={"result":1} order={"status":"pending"} [waits:2]',
  ]);
  expect(first.outcome.kind).toBe('waiting');

  const answer = (id: string, response: object) => ({
    newMessage: {role: 'user', parts: [{functionResponse: {id, name: 'order', response: {...response}}}]},
  });
  const second = await collect(it.run('', answer('o2', {arrived: 2})));
  expect(second.events).toEqual([]);
  expect(second.outcome).toMatchObject({kind: 'waiting', llmCalls: 0});

  for (const [id, code] of [
    ['o2', 'FUNCTION_CALL_ANSWERED'],
    ['l1', 'UNKNOWN_FUNCTION_CALL'],
    ['zz', 'UNKNOWN_FUNCTION_CALL'],
  ] as const) {
    const before = (await it.stored()).length;
    await expect(it.run('', answer(id, {})).next()).rejects.toMatchObject({name: 'FunctionResponseError', code, functionCallId: id});
    expect(await it.stored()).toHaveLength(before);
  }

  const third = await collect(it.run('', answer('o1', {arrived: 1})));
  expect(third.events.map(line)).toEqual(['root: "all there"']);
  expect(third.outcome.kind).toBe('done');
  expect(free).toBe(1);
  const contents = it.model.requests.at(-1)?.contents ?? [];
  expect(contents.slice(-2)).toMatchObject([
    {role: 'model', parts: [{functionCall: {id: 'o1'}}, {functionCall: {id: 'l1'}}, {functionCall: {id: 'o2'}}]},
    {
      role: 'user',
      parts: [
        {functionResponse: {id: 'o1', response: {arrived: 1}}},
        {functionResponse: {id: 'l1', response: {result: 1}}},
        {functionResponse: {id: 'o2', response: {arrived: 2}}},
      ],
    },
  ]);
});

test('a user who speaks instead of answering gets the pending response into the request', async () => {
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({ticket: 7})});
  const it = await stage({steps: [functionCalls({id: 'o1', name: 'order'}), 'still waiting', 'there it is'], agent: {tools: [order]}});
  await collect(it.run('order'));
  await collect(it.run('where is it?'));
  expect(
    it.model.requests[1]?.contents.map((content) =>
      content.parts?.map((part) => part.text ?? part.functionResponse?.response ?? part.functionCall?.name),
    ),
  ).toEqual([['order'], ['order'], [{ticket: 7}], ['where is it?']]);
  await collect(it.run('', {newMessage: {parts: [{functionResponse: {id: 'o1', response: {arrived: true}}}]}}));
  expect(
    it.model.requests[2]?.contents.map((content) =>
      content.parts?.map((part) => part.text ?? part.functionResponse?.response ?? part.functionCall?.name),
    ),
  ).toEqual([['where is it?'], ['still waiting'], ['order'], ['order'], [{arrived: true}]]);
});
