// What people reported about the tool calls of other runtimes. The right behaviour is asserted as a user sees it; the report stands above
// each test. The reports below are proved elsewhere, by the tests named (files in `tests/`):
//
// | report | test |
// | --- | --- |
// | google/adk-js#233, PR#167, #769, #770; google/adk-java#735, #1152; google/adk-python#1076 | stories/tools: parallel calls run at once, and their responses stand in call order whichever ends first; every call gets its own deep copy of its arguments |
// | google/adk-python#4442 | stories/tools: an exclusive call runs alone; SEQUENTIAL runs one call at a time, in call order |
// | pydantic/pydantic-ai#6884 | stories/tools: no more than maxConcurrentTools run at a time, and every call runs; the default cap on concurrent tools is finite |
// | mastra-ai/mastra#18594, livekit/agents-js#2428 | stories/tools: a call that passes its deadline is answered with a timeout |
// | huggingface/smolagents PR#2554 | stories/tools: one call that throws touches neither its siblings nor the run |
// | google/adk-java#474, google/adk-js#857 | stories/tools: hooks around a tool run in order |
// | openai/openai-agents-python#3459 | stories/tools: bad arguments are refused without running the body, and an unknown name is answered with the names there are |
// | adk-java 6dd4594 | stories/tools: a run with a long-running call ends waiting |
// | google/adk-python#1583, PR#1585 | agents/llm/history: responses from several events stand in one content, in call order |
// | google/adk-python#4609 | stories/run-order: a call id stays the same from the partial event to the whole one |
// | google/adk-python#5444 | stories/run-order: a generator body shows its progress as partial events |
// | google/adk-js#703 | stories/run-order: an event is stored before it is yielded, and the next request holds it |
// | openai/openai-agents-js#1521 | stories/stop: a stop while tools run and queue fires their signals, starts nothing more |
// | MervinPraison/PraisonAI#4300 | stories/stop: an abort in the middle of five serial effects lets exactly one happen |
// | anthropics/claude-agent-sdk-typescript#132 | stories/stop: a custom agent around an LlmAgent is stopped with it |
// | strands-agents/harness-sdk#4103 | stories/stop: a dropped iterator frees its session at the deadline |
// | google/adk-python#4751, google/adk-go#1229 (in one process) | stories/stop: runs on one session follow each other |
// | google/adk-java#1341, PR#1434; google/adk-python#2425, #4796, #2853, #4738 | stories/run-end: cancel() stops the runs of a session, or one run; stories/stop: a deaf tool is waited for as long as the grace |
// | mastra-ai/mastra#13984 | stories/run-end: break ends the run without a throw |
// | OpenRouterTeam/typescript-agent PR#126, mastra-ai/mastra PR#15718, kagent-dev/kagent#2895 | stories/run-end: calls of a cut reply never run |
// | google/adk-js#676, #692 | stories/run-end: the live mode is refused at the first next() |
// | google/adk-js#831 | sessions/in-memory-session-service: an append to a session of 20,000 Events costs what one to a short session does |
// | colinhacks/zod#5807, langchain-ai/langchainjs PR#9864 (schemas that are refused) | schema/json-schema: a JSON Schema that cannot be meant is refused |
import {describe, expect, test, vi} from 'vitest';
import {
  BaseAgent,
  FunctionTool,
  getFunctionResponses,
  HookError,
  InvocationContext,
  LlmAgent,
  LlmCallsLimitExceededError,
  LongRunningFunctionTool,
  StreamingMode,
  ToolExecutionMode,
  type Context,
  type Event,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {z} from 'zod';
import {expectNoListeners, expectValid, idle, line, lines, stage} from '../stories/kit.ts';

/** A tool that takes as many turns of the event loop as its argument says. */
function turning(log: string[]): FunctionTool {
  return new FunctionTool({
    name: 'turn',
    description: 'Takes a while.',
    parameters: z.object({turns: z.number()}),
    execute: async ({turns}) => {
      log.push(`start ${turns}`);
      for (let turn = 0; turn < turns; turn++) await idle();
      log.push(`end ${turns}`);
      return turns;
    },
  });
}

const turns = (...list: number[]) => functionCalls(...list.map((n) => ({name: 'turn', args: {turns: n}})));

// langchain-ai/langgraphjs#2656
test('with a cap of one all calls of a reply run, one at a time, and all are answered', async () => {
  const log: string[] = [];
  const it = await stage({
    steps: [turns(3, 1, 2, 6, 5, 4), 'done'],
    agent: {tools: [turning(log)]},
    runConfig: {maxConcurrentTools: 1},
  });
  const {events} = await collect(it.run());
  expect(log).toEqual([3, 1, 2, 6, 5, 4].flatMap((n) => [`start ${n}`, `end ${n}`]));
  expect(getFunctionResponses(events[1]!).map(({response}) => response)).toEqual([3, 1, 2, 6, 5, 4].map((result) => ({result})));
});

// lightdash/lightdash#25262
test.each(Object.values(ToolExecutionMode))(
  'five calls of mixed speed start five times and are answered five times: %s',
  async (toolExecutionMode) => {
    const log: string[] = [];
    const it = await stage({steps: [turns(4, 1, 3, 0, 2), 'done'], agent: {tools: [turning(log)]}, runConfig: {toolExecutionMode}});
    const {events, outcome} = await collect(it.run());
    expect(log.filter((entry) => entry.startsWith('start'))).toHaveLength(5);
    expect(getFunctionResponses(events[1]!).map(({response}) => response)).toEqual([4, 1, 3, 0, 2].map((result) => ({result})));
    expect(outcome.kind).toBe('done');
  },
);

describe('a call that fails for good: its hook throws', () => {
  // openai/openai-agents-js PR#1254
  test('keeps queued calls from starting', async () => {
    const started: string[] = [];
    const tool = new FunctionTool({
      name: 'work',
      description: 'Works.',
      execute: (_args, {functionCallId}) => void started.push(functionCallId ?? ''),
    });
    const it = await stage({
      steps: [functionCalls({id: 'a', name: 'work'}, {id: 'b', name: 'work'}, {id: 'c', name: 'work'})],
      agent: {
        tools: [tool],
        afterToolCallback: () => {
          throw new Error('fatal');
        },
      },
      runConfig: {maxConcurrentTools: 1},
    });
    const {error, outcome} = await collect(it.run());
    expect(error).toBeInstanceOf(HookError);
    expect(outcome.kind).toBe('error');
    await idle();
    expect(started).toEqual(['a']);
    expect(getFunctionResponses((await it.stored()).at(-1)!).map(({response}) => response?.['started'])).toEqual([true, false, false]);
    expectValid(await it.stored());
  });

  // openai/openai-agents-js PR#1581
  test('stops its siblings, and its error surfaces once they have settled', async () => {
    vi.useFakeTimers();
    try {
      const log: string[] = [];
      const a = new FunctionTool({name: 'a', description: 'Fails.', execute: () => new Promise((resolve) => setTimeout(resolve, 50))});
      const b = new FunctionTool({
        name: 'b',
        description: 'Listens.',
        execute: (_args, {abortSignal}) =>
          new Promise((resolve) =>
            abortSignal.addEventListener('abort', () => {
              log.push(`b sees it at ${Date.now() - start}`);
              setTimeout(() => resolve(log.push(`b ends at ${Date.now() - start}`)), 100);
            }),
          ),
      });
      const it = await stage({
        steps: [functionCalls({name: 'a'}, {name: 'b'})],
        agent: {
          tools: [a, b],
          afterToolCallback: ({tool}) => {
            if (tool.name === 'a') throw new Error('fatal');
            return undefined;
          },
        },
      });
      const start = Date.now();
      const reading = collect(it.run()).then((result) => (log.push(`over at ${Date.now() - start}`), result));
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await reading).error).toMatchObject({name: 'HookError', message: expect.stringContaining('fatal')});
      expect(log).toEqual(['b sees it at 50', 'b ends at 150', 'over at 150']);
      // What b brought within the grace is completed work.
      expect((await it.stored()).map(line).at(-1)).toBe(
        'root: a={"error":"cancelled; it may have taken effect","started":true} b={"result":2}',
      );
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

// vellum-ai/vellum-assistant PR#647
test.each([
  ['in the hook that reviews the reply', true],
  ['between the calls and their batch', false],
])('an abort %s starts no tool, and the events are the same every time', async (_, inHook) => {
  for (let round = 0; round < 3; round++) {
    const started: string[] = [];
    const stop = new AbortController();
    const tool = new FunctionTool({name: 'work', description: 'Works.', execute: () => void started.push('work')});
    const it = await stage({
      steps: [functionCalls({name: 'work'}, {name: 'work'})],
      agent: {tools: [tool], afterModelCallback: () => void (inHook && stop.abort('halt'))},
    });
    const run = it.run('go', {abortSignal: stop.signal});
    if (!inHook) {
      await run.next();
      stop.abort('halt');
    }
    await expect(run.next()).rejects.toBe('halt');
    await idle();
    expect(started).toEqual([]);
    expect((await it.stored()).map(line)).toEqual([
      'user: "go"',
      'root: work({}) work({})',
      'root: work={"error":"cancelled","started":false} work={"error":"cancelled","started":false}',
    ]);
    expectNoListeners(stop.signal);
  }
});

// google/adk-js#253, adk-java 03b04fa
test('the event that answers a batch keeps the invocation, the branch, the author and every action of its calls', async () => {
  const acting = (name: string, act: (context: Context) => void) =>
    new FunctionTool({name, description: name, execute: (_args, context) => act(context)});
  const tools = [
    acting('first', ({actions, state}) => {
      Object.assign(actions, {skipSummarization: true, transferToAgent: 'one'});
      actions.artifactDelta['a.txt'] = 1;
      state.set('first', {list: [1]});
    }),
    acting('second', ({actions, state}) => {
      Object.assign(actions, {endOfAgent: true, transferToAgent: 'two'});
      actions.requestedAuthConfigs['c2'] = {scheme: 'key'};
      state.set('second', null);
    }),
    acting('third', ({actions}) => {
      actions.escalate = true;
      actions.requestedToolConfirmations['c3'] = {hint: 'sure?'};
    }),
  ];
  const model = new ScriptedLlm({steps: [functionCalls({name: 'first'}, {name: 'second'}, {name: 'third'})]});
  const inner = new LlmAgent({name: 'inner', model, tools});
  class Outer extends BaseAgent {
    protected runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      return inner.runAsync(new InvocationContext(context.run, inner, 'outer.inner'));
    }
  }
  const it = await stage({runner: {agent: new Outer({name: 'outer', subAgents: [inner]})}});
  const run = it.run();
  const {events} = await collect(run);
  const merged = {
    invocationId: run.invocationId,
    branch: 'outer.inner',
    author: 'inner',
    actions: {
      stateDelta: {first: {list: [1]}, second: null},
      artifactDelta: {'a.txt': 1},
      requestedAuthConfigs: {c2: {scheme: 'key'}},
      requestedToolConfirmations: {c3: {hint: 'sure?'}},
      skipSummarization: true,
      transferToAgent: 'two',
      escalate: true,
      endOfAgent: true,
    },
  };
  expect(events[1]).toMatchObject(merged);
  expect(events[1]?.actions).toEqual(merged.actions);
  expect((await it.stored()).at(-1)).toEqual(events[1]);
});

// google/adk-python#5190
test('lists and records that calls write under one key are never joined: the later call in call order has the last word', async () => {
  const write = new FunctionTool({
    name: 'write',
    description: 'Writes.',
    parameters: z.object({list: z.array(z.number()), turns: z.number()}),
    execute: async ({list, turns}, {state}) => {
      for (let turn = 0; turn < turns; turn++) await idle();
      state.set('list', list);
      state.set('record', {[`by${turns}`]: list});
    },
  });
  const it = await stage({
    steps: [
      functionCalls({name: 'write', args: {list: [1, 2], turns: 2}}, {name: 'write', args: {list: [3], turns: 1}}),
      functionCalls({name: 'write', args: {list: [4], turns: 0}}),
      'done',
    ],
    agent: {tools: [write]},
  });
  const {events} = await collect(it.run());
  expect(events[1]?.actions.stateDelta).toEqual({list: [3], record: {by1: [3]}});
  expect(await it.state()).toEqual({list: [4], record: {by0: [4]}});
});

// google/adk-js#789, #790, google/adk-python#4005, #2933
test('a model that goes on calling a tool that does not exist is stopped at the limit; its good calls are run and answered each time', async () => {
  let good = 0;
  const it = await stage({
    steps: Array.from({length: 60}, () => functionCalls({name: 'good'}, {name: 'made_up'})),
    agent: {tools: [new FunctionTool({name: 'good', description: 'Is there.', execute: () => ++good})]},
  });
  const {events, error, outcome} = await collect(it.run());
  expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
  expect(outcome).toMatchObject({kind: 'limit', llmCalls: 50});
  expect(good).toBe(50);
  expect(events.filter((_, index) => index % 2 === 1).map((event) => line(event))).toEqual(
    Array.from(
      {length: 50},
      (_, n) => `root: good={"result":${n + 1}} made_up={"error":"There is no tool \`made_up\`. The tools are: good"}`,
    ),
  );
  expectValid(await it.stored());
});

// brightwave-inc/tidebreak#1084, omnigent-ai/omnigent PR#2587
test.each([['{bad'], [[]], ['x'], [null], [7]])(
  'arguments %j are not made into an empty object: the tool does not run, and the model is told what is wrong and what is expected',
  async (args) => {
    const ran: unknown[] = [];
    const tool = new FunctionTool({
      name: 'wipe',
      description: 'Wipes a disk.',
      parameters: z.object({disk: z.string(), force: z.boolean().optional()}),
      execute: (given) => void ran.push(given),
    });
    const it = await stage({
      steps: [functionCalls({name: 'wipe', args: args as unknown as Record<string, unknown>}), 'sorry'],
      agent: {tools: [tool]},
    });
    const {events, outcome} = await collect(it.run());
    expect(ran).toEqual([]);
    const [{response} = {}] = getFunctionResponses(events[1]!);
    expect(response).toEqual({
      error: expect.stringMatching(args === null ? /^Invalid arguments: .*disk/ : /^Invalid arguments: must be an object, got /),
    });
    expect(response?.['error']).toContain('disk: string');
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 2});
    expectValid(await it.stored());
  },
);

// brave/brave-browser#56601, rchern/pi-claude-cli PR#37
test.each([{args: ''}, {args: undefined}, {args: null}, {}])('a call without arguments, %j, runs a tool that needs none', async (call) => {
  const ran: unknown[] = [];
  const all = new FunctionTool({
    name: 'all',
    description: 'Lists all.',
    parameters: z.object({page: z.number().optional()}),
    execute: (args) => void ran.push(args),
  });
  const none = new FunctionTool({name: 'none', description: 'Takes none.', execute: (args) => void ran.push(args)});
  const it = await stage({
    steps: [functionCalls({name: 'all', ...(call as object)}, {name: 'none', ...(call as object)}), 'done'],
    agent: {tools: [all, none]},
  });
  expect((await lines(it.run())).slice(1)).toEqual(['root: all={"result":null} none={"result":null}', 'root: "done"']);
  expect(ran).toEqual([{}, {}]);
});

describe('calls whose answers come later', () => {
  const ask = () => new LongRunningFunctionTool({name: 'ask', description: 'Asks somebody.', execute: () => undefined});
  const answer = (id: string) => ({newMessage: {role: 'user', parts: [{functionResponse: {id, name: 'ask', response: {by: id}}}]}});

  // google/adk-python#5450, #5349
  test('are answered one run at a time, as many as there are; nothing else runs again', async () => {
    let looked = 0;
    const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => ++looked});
    const it = await stage({
      steps: [functionCalls({id: 'a', name: 'ask'}, {id: 'l', name: 'look'}, {id: 'b', name: 'ask'}, {id: 'c', name: 'ask'}), 'all there'],
      agent: {tools: [ask(), look]},
    });
    await collect(it.run());
    const ends: (readonly [string, number, string[]])[] = [];
    for (const id of ['c', 'a', 'b']) {
      const {events, outcome} = await collect(it.run('', answer(id)));
      ends.push([outcome.kind, outcome.llmCalls, events.map(line)]);
    }
    expect(ends).toEqual([
      ['waiting', 0, []],
      ['waiting', 0, []],
      ['done', 1, ['root: "all there"']],
    ]);
    expect(looked).toBe(1);
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.map((part) => part.functionResponse?.response)).toEqual([
      {by: 'a'},
      {result: 1},
      {by: 'b'},
      {by: 'c'},
    ]);
  });

  // google/adk-python#5064, PR#5072
  test('can be answered by the id that the streamed call showed first', async () => {
    const partial = {partial: true, content: {role: 'model', parts: [{functionCall: {name: 'ask', args: {}}}]}};
    const it = await stage({
      steps: [[partial, functionCalls({name: 'ask'})], 'thanks'],
      agent: {tools: [ask()]},
      runConfig: {streamingMode: StreamingMode.SSE},
    });
    const {events} = await collect(it.run());
    const shown = events[0]?.content?.parts?.[0]?.functionCall?.id ?? '';
    expect(events[0]?.partial).toBe(true);
    expect(await lines(it.run('', answer(shown)))).toEqual(['root: "thanks"']);
  });

  // google/adk-python#5064: one after the other, each in a turn of its own
  test('are answered time after time, when each answer leads to the next such call', async () => {
    const it = await stage({steps: [1, 2, 3].map((n) => functionCalls({id: `q${n}`, name: 'ask'})), agent: {tools: [ask()]}});
    it.model.enqueue('enough');
    expect((await collect(it.run())).outcome.kind).toBe('waiting');
    expect((await collect(it.run('', answer('q1')))).outcome.kind).toBe('waiting');
    expect((await collect(it.run('', answer('q2')))).outcome.kind).toBe('waiting');
    expect(await lines(it.run('', answer('q3')))).toEqual(['root: "enough"']);
    expect(it.model.requests.map(({contents}) => contents.length)).toEqual([1, 3, 5, 7]);
  });
});
