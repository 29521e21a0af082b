// What people reported about sessions, state and toolsets of other runtimes.
import {describe, expect, test, vi} from 'vitest';
import {
  BaseToolset,
  createEvent,
  FunctionTool,
  getFunctionResponses,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  SessionConflictError,
  type AppendEventRequest,
  type BaseTool,
  type Event,
  type LlmAgentConfig,
  type RunConfig,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm, text, type ScriptedStep} from 'sluice/testing';
import {expectValid, idle, line, lines, Stage, stage} from '../stories/kit.ts';

const key = {appName: 'app', userId: 'u', sessionId: 's'};

/** A stage over a store of the test's own. */
async function stageOver<S extends InMemorySessionService>(
  service: S,
  {steps, agent = {}, runConfig = {}}: {steps: readonly ScriptedStep[]; agent?: Partial<LlmAgentConfig>; runConfig?: RunConfig},
): Promise<Stage> {
  await service.createSession(key);
  const model = new ScriptedLlm({steps});
  const runner = new Runner({appName: 'app', agent: new LlmAgent({name: 'root', model, ...agent}), sessionService: service, runConfig});
  return new Stage(runner, model, []);
}

const count = new FunctionTool({
  name: 'count',
  description: 'Counts.',
  execute: (_args, {state}) => {
    state.set('n', state.get('n', 0) + 1);
    return state.get('n');
  },
});

/** Takes a few turns of the event loop for each append. */
class SlowStore extends InMemorySessionService {
  stored = 0;
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    for (let turn = 0; turn < 5; turn++) await idle();
    const event = await super.appendEvent(request);
    for (let turn = 0; turn < 5; turn++) await idle();
    this.stored++;
    return event;
  }
}

// adk-java 0a40557
test('with a slow store every request holds all steps before it, and these are stored by then', async () => {
  const service = new SlowStore();
  const seen: [number, number, string | undefined][] = [];
  const step =
    (next: ScriptedStep): ScriptedStep =>
    ({contents, config}) => {
      seen.push([contents.length, service.stored, config.systemInstruction as string | undefined]);
      return next;
    };
  const calls = functionCalls({name: 'count'}, {name: 'count'});
  const it = await stageOver(service, {
    steps: [step(calls), step(calls), step(calls), step(text('done'))],
    agent: {tools: [count], instruction: 'So far {n?}.'},
  });
  expect((await collect(it.run())).outcome.kind).toBe('done');
  expect(seen).toEqual([
    [1, 1, 'So far .'],
    [3, 3, 'So far 1.'],
    [5, 5, 'So far 2.'],
    [7, 7, 'So far 3.'],
  ]);
});

// adk-java a38b824
test('a loop of a thousand steps ends well, with all of it in the session', async () => {
  const call = functionCalls({name: 'count'});
  const model = new ScriptedLlm({record: false, steps: [...Array.from({length: 1_000}, () => call), 'done']});
  const it = await stage({agent: {model, tools: [count]}, runConfig: {maxLlmCalls: 0}});
  const {events, outcome} = await collect(it.run());
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 1_001});
  expect(events).toHaveLength(2_001);
  expect(await it.state()).toEqual({n: 1_000});
  expectValid(await it.stored());
});

// google/adk-python#4751, #5244
test('a run whose session another process took over is refused its next write, and hands over what it could not store', async () => {
  const service = new InMemorySessionService();
  const takeOver = new FunctionTool({
    name: 'slow',
    description: 'Is overtaken.',
    execute: async () => void (await service.claimSession(key)),
  });
  const it = await stageOver(service, {steps: [functionCalls({id: 'c1', name: 'slow'}), 'unused'], agent: {tools: [takeOver]}});
  const {events, error, outcome} = await collect(it.run());
  expect(error).toBeInstanceOf(SessionConflictError);
  expect(events.map(line)).toEqual(['root: slow({})']);
  expect((error as SessionConflictError).events.map((event) => line(event as Event))).toEqual(['root: slow={"result":null}']);
  expect(outcome).toMatchObject({kind: 'error', llmCalls: 1, lastEventId: events[0]?.id});

  // The next run finds a call without a response, and sends a valid request all the same.
  await collect(it.run('and now?'));
  expect(it.model.requests[1]?.contents.map(({parts}) => parts?.map((part) => Object.keys(part)[0]))).toEqual([
    ['text'],
    ['functionCall'],
    ['functionResponse'],
    ['text'],
  ]);
});

/** Loses the first answer of every append, and tries again: as a client of a database does. */
class RetryingStore extends InMemorySessionService {
  sent = 0;
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    this.sent++;
    await super.appendEvent(request);
    this.sent++;
    return super.appendEvent(request);
  }
}

// google/adk-python#5723, #4506
test('a store that sends every append twice stores every event once, and applies its state once', async () => {
  const service = new RetryingStore();
  const it = await stageOver(service, {
    steps: [functionCalls({name: 'count'}), functionCalls({name: 'count'}), 'done'],
    agent: {tools: [count]},
  });
  await collect(it.run());
  expect(service.sent).toBe(12);
  expect((await it.stored()).map(line)).toEqual([
    'user: "go"',
    'root: count({})',
    'root: count={"result":1}',
    'root: count({})',
    'root: count={"result":2}',
    'root: "done"',
  ]);
  expect(await it.state()).toEqual({n: 2});
});

describe('state', () => {
  // google/adk-js#695, #636
  test('that somebody else wrote while a run went on survives what the run still appends', async () => {
    const it = await stage({
      steps: [functionCalls({name: 'mine'}), 'done'],
      agent: {
        tools: [
          new FunctionTool({
            name: 'mine',
            description: 'Writes.',
            execute: async (_args, {state}) => {
              state.set('mine', 'run');
              const session = (await it.runner.sessionService.getSession(key))!;
              const event = createEvent({author: 'system', actions: {stateDelta: {shared: 'newer', 'user:shared': 'newer'}}});
              await it.runner.sessionService.appendEvent({session, event});
            },
          }),
        ],
        outputKey: 'last',
      },
    });
    await collect(it.run('go', {stateDelta: {shared: 'older', 'user:shared': 'older'}}));
    expect(await it.state()).toEqual({mine: 'run', shared: 'newer', 'user:shared': 'newer', last: 'done'});
  });

  // google/adk-python#3178, #5763
  test('that comes with an answer, or with a response and nothing else, is applied exactly once', async () => {
    const deltas: unknown[] = [];
    class Watching extends InMemorySessionService {
      override appendEvent(request: AppendEventRequest): Promise<Event> {
        if (Object.keys(request.event.actions.stateDelta).length > 0) deltas.push(request.event.actions.stateDelta);
        return super.appendEvent(request);
      }
    }
    const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: (_args, {state}) => state.set('asked', [1])});
    const it = await stageOver(new Watching(), {
      steps: [functionCalls({id: 'a', name: 'ask'}, {name: 'count'}), functionCalls({name: 'count'}), 'done'],
      agent: {tools: [ask, count]},
    });
    await collect(it.run());
    expect(await it.state()).toEqual({asked: [1], n: 1});
    const newMessage = {role: 'user', parts: [{functionResponse: {id: 'a', name: 'ask', response: {ok: true}}}]};
    await collect(it.run('', {newMessage, stateDelta: {answered: true, asked: [2]}}));
    expect(await it.state()).toEqual({asked: [2], n: 2, answered: true});
    expect(deltas).toEqual([{asked: [1], n: 1}, {answered: true, asked: [2]}, {n: 2}]);
  });

  // google/adk-java#1009
  test('of null is a value like any other, and comes back after the session was written out and read in', async () => {
    const nullish = new FunctionTool({
      name: 'nullish',
      description: 'Writes null.',
      execute: (_args, {state}) => {
        state.set('none', null);
        state.set('user:none', {deep: [null]});
        state.set('gone', 1);
        state.delete('gone');
        return {none: null, list: [null]};
      },
    });
    const it = await stage({steps: [functionCalls({name: 'nullish', args: {a: null}}), 'done', 'again'], agent: {tools: [nullish]}});
    await collect(it.run());
    expect(await it.state()).toEqual({none: null, 'user:none': {deep: [null]}});

    const copy = await stage({steps: ['again'], agent: {tools: [nullish], instruction: 'It is {none}.'}});
    const session = (await copy.runner.sessionService.getSession(key))!;
    for (const event of JSON.parse(JSON.stringify(await it.stored())) as Event[])
      await copy.runner.sessionService.appendEvent({session, event});
    expect(await copy.state()).toEqual(await it.state());
    await collect(copy.run('again'));
    await collect(it.run('again'));
    expect(copy.model.requests[0]?.contents).toEqual(it.model.requests[2]?.contents);
    expect(copy.model.requests[0]?.config.systemInstruction).toBe('It is null.');
  });

  // google/adk-python#5566
  test("under outputKey is seen by the agent's own afterAgentCallback, and by whatever runs next", async () => {
    const seen: unknown[] = [];
    const it = await stage({
      steps: ['the answer', 'later'],
      agent: {outputKey: 'result', instruction: 'Before: {result?}', afterAgentCallback: ({state}) => void seen.push(state.get('result'))},
    });
    await collect(it.run());
    await collect(it.run());
    expect(seen).toEqual(['the answer', 'later']);
    expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual(['Before: ', 'Before: the answer']);
  });
});

describe('what belongs to the caller', () => {
  // adk-java 80c1a21, google/adk-java#1377
  test('may be frozen, and is never changed', async () => {
    const freeze = <T>(value: T): T => {
      if (typeof value === 'object' && value !== null) Object.values(Object.freeze(value)).forEach(freeze);
      return value;
    };
    const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});
    const it = await stage({
      steps: [functionCalls({id: 'a', name: 'ask'}), 'done'],
      agent: {
        tools: [ask],
        generateContentConfig: freeze({temperature: 0.5, toolConfig: {functionCallingConfig: {mode: 'ANY' as never}}}),
        beforeModelCallback: ({request}) => {
          request.config.temperature = 1;
          for (const {parts} of request.contents) for (const part of parts ?? []) if (part.text) part.text = `${part.text}!`;
          return undefined;
        },
      },
    });
    const first = {
      newMessage: {parts: [{text: 'hello'}, {inlineData: {mimeType: 'image/png', data: 'AAAA'}}]},
      stateDelta: {list: [1]},
      customMetadata: {a: {b: 1}},
    };
    const second = {newMessage: {parts: [{functionResponse: {id: 'a', response: {nested: {list: [1, {two: 2}]}}}}]}};
    const before = JSON.stringify([first, second]);
    await collect(it.run('', freeze(first)));
    await collect(it.run('', freeze(second)));
    expect(JSON.stringify([first, second])).toBe(before);
    expect((await it.stored()).map(line)).toEqual([
      'user: "hello" ""',
      'root: ask({}) [waits:1]',
      'root: ask={"status":"pending"} [waits:1]',
      'user: ask={"nested":{"list":[1,{"two":2}]}}',
      'root: "done"',
    ]);
    expect(it.model.requests[0]?.contents[0]?.parts?.[0]?.text).toBe('hello!');
  });

  test('and changed while the run goes on changes neither the session nor a request', async () => {
    const parts = [{text: 'hello'}];
    const list = [1];
    const it = await stage({steps: [functionCalls({name: 'count'}), 'done'], agent: {tools: [count]}});
    const run = it.run('', {newMessage: {role: 'user', parts}, stateDelta: {list}});
    await run.next();
    parts[0]!.text = 'changed';
    parts.push({text: 'more'});
    list.push(2);
    await collect(run);
    expect((await it.stored())[0]?.content).toEqual({role: 'user', parts: [{text: 'hello'}]});
    expect(it.model.requests[1]?.contents[0]).toEqual({role: 'user', parts: [{text: 'hello'}]});
    expect(await it.state()).toEqual({list: [1], n: 1});
  });

  // adk-java fca43fb
  test('such as a list of events that it reads slowly or empties, does not get in the way of a run, nor the run in its', async () => {
    const read: string[] = [];
    const slowly = async (events: readonly Event[]): Promise<void> => {
      for (const event of events) {
        read.push(line(event));
        await idle();
      }
    };
    const it = await stage({
      steps: [functionCalls({name: 'look'}), functionCalls({name: 'look'}), 'done'],
      agent: {
        tools: [
          new FunctionTool({
            name: 'look',
            description: 'Looks at the session.',
            execute: async (_args, {session}) => {
              // Goes on reading while the run appends.
              void slowly(session.events);
              const own = (await it.runner.sessionService.getSession(key))!;
              own.events.length = 0;
              own.state = {all: 'mine'};
              return session.events.length;
            },
          }),
        ],
      },
    });
    const {outcome, events} = await collect(it.run());
    for (let turn = 0; turn < 20; turn++) await idle();
    expect(outcome.kind).toBe('done');
    expect(events.flatMap((event) => getFunctionResponses(event)).map(({response}) => response)).toEqual([{result: 2}, {result: 4}]);
    const stored = (await it.stored()).map(line);
    expect(stored).toHaveLength(6);
    expect(read.toSorted()).toEqual([...stored, ...stored].toSorted());
    expect(await it.state()).toEqual({});
    expectValid(await it.stored());
  });
});

/** Counts what is done with it. */
class CountedToolset extends BaseToolset {
  closed = 0;
  readonly #tools: BaseTool[];
  constructor(tools: BaseTool[]) {
    super();
    this.#tools = tools;
  }
  override async getTools(): Promise<BaseTool[]> {
    if (this.closed > 0) throw new Error('closed');
    return this.#tools;
  }
  override async close(): Promise<void> {
    this.closed++;
    await idle();
  }
}

// google/adk-js#333, #377, #394, google/adk-python#362
test('a toolset outlives the runs that use it: it is closed once, when the runner is closed and the last run has ended', async () => {
  const gate = Promise.withResolvers<string>();
  const toolset = new CountedToolset([new FunctionTool({name: 'wait', description: 'Waits.', execute: () => gate.promise}), count]);
  const it = await stage({steps: [functionCalls({name: 'wait'}), 'first'], agent: {tools: [toolset]}});
  const slow = collect(it.run());
  await vi.waitUntil(() => it.model.calls === 1);
  await idle();

  const model = new ScriptedLlm({steps: [functionCalls({name: 'count'}), 'second']});
  const other = new Runner({
    appName: 'other',
    agent: new LlmAgent({name: 'other', model, tools: [toolset]}),
    sessionService: it.runner.sessionService,
  });
  expect(await lines(other.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}}))).toHaveLength(3);
  expect(toolset.closed).toBe(0);

  const closing = [it.runner.close(), it.runner.close()];
  await idle();
  expect(toolset.closed).toBe(0);
  gate.resolve('open');
  expect((await slow).events.map(line).slice(1)).toEqual(['root: wait={"result":"open"}', 'root: "first"']);
  await Promise.all(closing);
  await it.runner.close();
  expect(toolset.closed).toBe(1);
});
