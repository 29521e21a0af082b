// What people reported about stopping other runtimes: signals that do not arrive, reasons that leak, work that goes on.
import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {
  BaseAgent,
  BaseTool,
  BaseToolset,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  InvalidOptionError,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  StreamingMode,
  type AppendEventRequest,
  type Event,
  type InvocationContext,
  type Run,
  type RunAsyncToolRequest,
} from 'sluice';
import {collect, deaf, deltas, functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, stage} from '../stories/kit.ts';

const message = {role: 'user', parts: [{text: 'go'}]};

/** Runs its sub-agents one after the other, as an agent of the user's would. */
class Chain extends BaseAgent {
  protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    for (const agent of this.subAgents) yield* agent.runAsync(context);
  }
}

describe('a signal reaches the tool', () => {
  /** What a tool does that tells of its signal and then waits for it. */
  function listener(): {heard: Promise<AbortSignal>; wait: (signal: AbortSignal) => Promise<never>} {
    const {promise, resolve} = Promise.withResolvers<AbortSignal>();
    const wait = (signal: AbortSignal): Promise<never> => {
      resolve(signal);
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason), {once: true}));
    };
    return {heard: promise, wait};
  }

  type Wait = (signal: AbortSignal) => Promise<never>;
  const listen = (wait: Wait) =>
    new FunctionTool({name: 'listen', description: 'Listens.', execute: (_args, {abortSignal}) => wait(abortSignal)});
  const call = functionCalls({name: 'listen'});

  class Listen extends BaseTool {
    readonly #wait: Wait;
    constructor(wait: Wait) {
      super({name: 'listen', description: 'Listens.'});
      this.#wait = wait;
    }
    override runAsync({toolContext}: RunAsyncToolRequest): Promise<unknown> {
      return this.#wait(toolContext.abortSignal);
    }
  }

  class Listeners extends BaseToolset {
    readonly #wait: Wait;
    constructor(wait: Wait) {
      super();
      this.#wait = wait;
    }
    override async getTools(): Promise<BaseTool[]> {
      return [listen(this.#wait)];
    }
    override async close(): Promise<void> {}
  }

  const paths: Record<string, (wait: Wait) => Promise<Run>> = {
    'of a plain call': async (wait) => (await stage({steps: [call], agent: {tools: [listen(wait)]}})).run(),
    'of a call behind others': async (wait) => {
      const quick = new FunctionTool({name: 'quick', description: 'Is quick.', execute: () => 1});
      const it = await stage({
        steps: [functionCalls({name: 'quick'}, {name: 'quick'}, {name: 'listen'})],
        agent: {tools: [quick, listen(wait)]},
        runConfig: {maxConcurrentTools: 1},
      });
      return it.run();
    },
    'in a run that an answer resumed': async (wait) => {
      const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});
      const it = await stage({steps: [functionCalls({id: 'a', name: 'ask'}), call], agent: {tools: [ask, listen(wait)]}});
      await collect(it.run());
      return it.run('', {newMessage: {role: 'user', parts: [{functionResponse: {id: 'a', name: 'ask', response: {ok: true}}}]}});
    },
    'of an agent below an agent': async (wait) => {
      const inner = new LlmAgent({name: 'inner', model: new ScriptedLlm({steps: [call]}), tools: [listen(wait)]});
      return (
        await stage({runner: {agent: new Chain({name: 'outer', subAgents: [new Chain({name: 'middle', subAgents: [inner]})]})}})
      ).run();
    },
    'in an ephemeral run': async (wait) =>
      (await stage({steps: [call], agent: {tools: [listen(wait)]}})).runner.runEphemeral({userId: 'u', newMessage: message}),
    'that a toolset lists': async (wait) => (await stage({steps: [call], agent: {tools: [new Listeners(wait)]}})).run(),
    'with a class of its own': async (wait) => (await stage({steps: [call], agent: {tools: [new Listen(wait)]}})).run(),
    'whose body is a generator': async (wait) => {
      const tool = new FunctionTool({
        name: 'listen',
        description: 'Listens.',
        async *execute(_args, {abortSignal}) {
          yield 'on my way';
          return wait(abortSignal);
        },
      });
      return (await stage({steps: [call], agent: {tools: [tool]}})).run();
    },
    'when its arguments were changed by a hook': async (wait) =>
      (await stage({steps: [call], agent: {tools: [listen(wait)], beforeToolCallback: ({args}) => void (args['added'] = 1)}})).run(),
  };

  // vercel/ai#19966, anthropics/claude-agent-sdk-typescript#132
  test.each(Object.keys(paths))('%s, also where the caller gave none', async (path) => {
    const {heard, wait} = listener();
    const run = await paths[path]!(wait);
    const reading = collect(run);
    const signal = await heard;
    expect(signal.aborted).toBe(false);
    await run.return();
    expect(signal.aborted).toBe(true);
    expect((await reading).outcome).toMatchObject({kind: 'return', abandoned: []});
  });
});

// mastra-ai/mastra#14820
test('an abort reaches the model call of an agent three levels down, with its reason', async () => {
  const model = new ScriptedLlm({steps: [hang()]});
  const deepest = new LlmAgent({name: 'deepest', model});
  const middle = new Chain({name: 'middle', subAgents: [deepest]});
  const it = await stage({runner: {agent: new Chain({name: 'outer', subAgents: [middle]})}});
  const stop = new AbortController();
  const reading = collect(it.run('go', {abortSignal: stop.signal}));
  await vi.waitUntil(() => model.calls === 1);
  const reason = new Error('enough');
  stop.abort(reason);
  expect((await reading).error).toBe(reason);
  expect(model.signals).toHaveLength(1);
  expect(model.signals[0]?.reason).toBe(reason);
  expectNoListeners(stop.signal);
});

describe('a reason that is no Error', () => {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on('unhandledRejection', note));
  afterEach(() => void process.off('unhandledRejection', note));

  const patient = new FunctionTool({
    name: 'patient',
    description: 'Waits.',
    execute: (_args, {abortSignal}) => new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason))),
  });
  const streaming = {streamingMode: StreamingMode.SSE};

  /** Starts a run and brings it to a place; what it resolves to is its next() then. */
  const places: Record<string, (signal: AbortSignal) => Promise<{run: Run; pending?: Promise<unknown>}>> = {
    'before the first next()': async (abortSignal) => ({run: (await stage({steps: ['never']})).run('go', {abortSignal})}),
    'while the model is asked': async (abortSignal) => {
      const run = (await stage({steps: [hang()]})).run('go', {abortSignal});
      return {run, pending: run.next()};
    },
    'between two chunks': async (abortSignal) => {
      const run = (await stage({steps: [deltas('a', 'b')], runConfig: streaming})).run('go', {abortSignal});
      await run.next();
      return {run};
    },
    'while tools run and queue': async (abortSignal) => {
      const it = await stage({
        steps: [functionCalls({name: 'patient'}, {name: 'patient'}, {name: 'patient'})],
        agent: {tools: [patient]},
        runConfig: {maxConcurrentTools: 2},
      });
      const run = it.run('go', {abortSignal});
      await run.next();
      return {run, pending: run.next()};
    },
    "in the session's queue": async (abortSignal) => {
      const it = await stage({steps: [hang()]});
      void collect(it.run('one', {runConfig: {timeoutMs: 100}}));
      const run = it.run('two', {abortSignal});
      return {run, pending: run.next()};
    },
    'while a model ignores it': async (abortSignal) => {
      const run = (await stage({steps: [deaf()], runConfig: {abortGraceMs: 5}})).run('go', {abortSignal});
      return {run, pending: run.next()};
    },
  };
  const reasons: [string, unknown][] = [
    ["'stop'", 'stop'],
    ['an empty text', ''],
    ['0', 0],
    ['null', null],
    ['false', false],
    ['a symbol', Symbol('stop')],
    ['a record', {why: 'because'}],
  ];

  // getsentry/sentry-javascript#24532
  test.each(Object.keys(places))('comes out of next() as it is, and leaves no unhandled rejection: %s', async (place) => {
    for (const [name, reason] of reasons) {
      const stop = new AbortController();
      const {run, pending} = await places[place]!(stop.signal);
      await idle();
      stop.abort(reason);
      const caught = await (pending ?? run.next()).then(
        () => 'nothing was thrown',
        (error: unknown) => ({error}),
      );
      expect([name, caught]).toEqual([name, {error: reason}]);
      expect(await run.settled).toMatchObject({kind: 'abort', reason});
      await idle();
      await idle();
      expect(unhandled).toEqual([]);
    }
  });
});

/** Counts what reaches the store. */
class CountingStore extends InMemorySessionService {
  appends = 0;
  override appendEvent(request: AppendEventRequest): Promise<Event> {
    this.appends++;
    return super.appendEvent(request);
  }
}

// google/adk-python PR#6564, #7177
test.each([
  ['return()', (run: Run) => run.return()],
  ['throw()', (run: Run) => run.throw(new Error('thrown')).catch(() => {})],
  ['cancel()', (_run: Run, runner: Runner) => runner.cancel({userId: 'u', sessionId: 's'})],
  ['close()', (_run: Run, runner: Runner) => runner.close({timeoutMs: 0})],
])('after %s nothing is appended any more, whatever a tool and a model still do', async (_, leave) => {
  for (const who of ['tool', 'model']) {
    const late = Promise.withResolvers<string>();
    const refused: unknown[] = [];
    const lateTool = new FunctionTool({
      name: 'late',
      description: 'Ignores its signal.',
      execute: async (_args, context) => {
        const value = await late.promise;
        try {
          context.state.set('late', value);
        } catch (error) {
          refused.push(error);
        }
        return value;
      },
    });
    const step = who === 'tool' ? functionCalls({name: 'late'}) : deaf(late.promise);
    const service = new CountingStore();
    await service.createSession({appName: 'app', userId: 'u', sessionId: 's'});
    const model = new ScriptedLlm({steps: [step, 'more']});
    const agent = new LlmAgent({name: 'root', model, tools: [lateTool]});
    const runner = new Runner({appName: 'app', agent, sessionService: service, onDiagnostic: () => {}, runConfig: {abortGraceMs: 5}});
    const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage: message});
    const reading = collect(run);
    await vi.waitUntil(() => model.calls === 1);
    await idle();
    await leave(run, runner);
    await reading;
    const {appends} = service;
    late.resolve('late');
    for (let turn = 0; turn < 5; turn++) await idle();
    expect(service.appends).toBe(appends);
    expect(model.calls).toBe(1);
    const session = await service.getSession({appName: 'app', userId: 'u', sessionId: 's'});
    expect(session?.state).toEqual({});
    expect(refused).toHaveLength(who === 'tool' ? 1 : 0);
    expectValid(session?.events ?? []);
  }
});

describe('an agent that never ends', () => {
  // google/adk-go#1471
  test('and yields nothing but nothing ends its run with an error that names it', async () => {
    class Void extends BaseAgent {
      protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
        for (;;) yield undefined as unknown as Event;
      }
    }
    const it = await stage({runner: {agent: new Void({name: 'void_agent'})}});
    const {error, events} = await collect(it.run());
    expect(events).toEqual([]);
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect((error as Error).message).toContain('void_agent');
  });

  test('is left by break, and its finally block runs', async () => {
    let ended = false;
    class Endless extends BaseAgent {
      protected async *runAsyncImpl({invocationId}: InvocationContext): AsyncGenerator<Event, void, undefined> {
        try {
          for (let n = 0; ; n++) yield createEvent({author: this.name, invocationId, content: {role: 'model', parts: [{text: `${n}`}]}});
        } finally {
          ended = true;
        }
      }
    }
    const it = await stage({runner: {agent: new Endless({name: 'endless'})}});
    const seen: string[] = [];
    for await (const event of it.run()) if (seen.push(line(event)) === 3) break;
    expect(ended).toBe(true);
    expect((await it.stored()).map(line).slice(1)).toEqual(seen);
  });
});
