// Every end of a run, seen by a plugin: told once, in time, and of nothing that was only a stop.
import {describe, expect, test, vi} from 'vitest';
import {
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  RunTimeoutError,
  type AppendEventRequest,
  type Diagnostic,
  type Event,
  type Run,
} from 'sluice';
import {collect, deltas, functionCalls, hang, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, stage, type Stage, type StageOptions} from '../stories/kit.ts';
import {deafHook, echo, noting, pluginOf} from './kit.ts';

const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});
const patient = new FunctionTool({
  name: 'patient',
  description: 'Waits for its signal.',
  execute: (_args, {abortSignal}) =>
    new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason as Error))),
});

interface End extends StageOptions {
  readonly steps: readonly ScriptedStep[];
  readonly read: (run: Run, it: Stage, stop: AbortController) => Promise<unknown>;
  /** The hooks of the run and of errors, behind `onUserMessage` and `beforeRun`. */
  readonly told: readonly string[];
}

const over = ['afterRun'];
const failed = ['onAgentError', 'onRunError', 'afterRun'];
/** Reads until something waits, then does this, and reads on. */
const meanwhile = (act: (it: Stage, stop: AbortController, run: Run) => unknown) => async (run: Run, it: Stage, stop: AbortController) => {
  const reading = collect(run);
  await vi.waitUntil(() => it.model.calls === 1);
  await idle();
  await act(it, stop, run);
  await reading;
};

const ends: Record<string, End> = {
  done: {steps: ['done'], read: collect, told: over},
  waiting: {steps: [functionCalls({name: 'ask'})], agent: {tools: [ask]}, read: collect, told: over},
  abort: {steps: [hang()], read: meanwhile((_, stop) => stop.abort(new Error('enough'))), told: over},
  'abort with tools under way': {
    steps: [functionCalls({name: 'patient'})],
    agent: {tools: [patient]},
    read: meanwhile((_, stop) => stop.abort()),
    told: over,
  },
  return: {
    steps: [functionCalls({name: 'echo'})],
    agent: {tools: [echo]},
    read: async (run) => void ((await run.next()) && (await run.return())),
    told: over,
  },
  cancel: {steps: [hang()], read: meanwhile((it) => it.runner.cancel({userId: 'u', sessionId: 's'})), told: over},
  closed: {steps: [hang()], read: meanwhile((it) => it.runner.close({timeoutMs: 0})), told: [...over, 'close']},
  timeout: {steps: [hang()], runConfig: {timeoutMs: 20}, read: collect, told: over},
  error: {steps: [new Error('no model')], read: collect, told: failed},
  limit: {steps: [functionCalls({name: 'echo'})], agent: {tools: [echo]}, runConfig: {maxLlmCalls: 1}, read: collect, told: failed},
};

describe.each(Object.entries(ends))('a run that ends in %s', (name, {read, told, ...options}) => {
  test('calls afterRunCallback once, last of all, and the hooks for errors only for an error', async () => {
    const log: string[] = [];
    const stop = new AbortController();
    const it = await stage({...options, runner: {plugins: [noting('all', log)]}});
    const run = it.run('go', {abortSignal: stop.signal});
    await read(run, it, stop);
    const {kind} = await run.settled;
    expect(kind).toBe(/^(abort|cancel|closed)/.test(name) ? 'abort' : name);
    const hooks = log.map((entry) => entry.replace(/all (\w+?)(Callback)?$/, '$1'));
    expect(hooks.slice(0, 2)).toEqual(['onUserMessage', 'beforeRun']);
    expect(hooks.filter((hook) => /Run|^on(Agent|Tool)Error|close/.test(hook))).toEqual(['beforeRun', ...told]);
    expect(hooks.filter((hook) => hook === 'afterAgent')).toEqual(['afterAgent']);
    expect(hooks.lastIndexOf('onEvent')).toBeLessThan(hooks.indexOf('afterRun'));
    expectValid((await it.stored()).filter(({longRunningToolIds}) => !longRunningToolIds || name !== 'waiting'));
    expectNoListeners(stop.signal);
    expect(it.diagnostics).toEqual([]);
  });

  test('calls afterRunCallback of every plugin, also where that of one before it throws', async () => {
    const log: string[] = [];
    const bad = pluginOf('bad', {
      afterRunCallback: () => {
        throw new Error('bad end');
      },
    });
    const stop = new AbortController();
    const it = await stage({...options, runner: {plugins: [bad, pluginOf('good', {afterRunCallback: () => void log.push('told')})]}});
    const run = it.run('go', {abortSignal: stop.signal});
    await read(run, it, stop);
    const {kind, reason} = await run.settled;
    expect(log).toEqual(['told']);
    const own = {hook: 'afterRunCallback', message: '`afterRunCallback` of `bad` threw: bad end'};
    if (name === 'done' || name === 'waiting') expect({kind, reason}).toMatchObject({kind: 'error', reason: own});
    else expect(it.diagnostics).toMatchObject([{code: 'CLOSE_FAILED', cause: own}]);
  });
});

test('afterRunCallback of a stopped run gets a signal that has not fired, and a place that can be read, also where an agent was left behind', async () => {
  const seen: unknown[] = [];
  const it = await stage({
    steps: [functionCalls({name: 'deaf'})],
    agent: {tools: [new FunctionTool({name: 'deaf', description: 'Never answers.', execute: () => new Promise(() => {})})]},
    runConfig: {abortGraceMs: 5},
    runner: {
      plugins: [
        pluginOf('sees', {
          afterRunCallback: ({invocationContext: {abortSignal, session}}) =>
            void seen.push(abortSignal.aborted, session.events.map(line).at(-1)),
        }),
      ],
    },
  });
  const run = it.run();
  await run.next();
  const pending = run.next();
  await vi.waitUntil(() => it.model.calls === 1);
  await idle();
  await run.return();
  await pending;
  expect(seen).toEqual([false, 'root: deaf={"error":"cancelled; it may have taken effect","started":true}']);
});

describe('onEventCallback at a stop', () => {
  test('sees and rewrites what the closing stores: the text that was cut, and the responses', async () => {
    const seen: string[] = [];
    const rewrites = pluginOf('censor', {
      onEventCallback: ({event}) => {
        seen.push(line(event));
        for (const part of event.content?.parts ?? []) {
          if (part.text) part.text = part.text.replace('secret', '***');
          if (part.functionResponse) part.functionResponse.response = {error: 'stopped'};
        }
      },
    });
    const it = await stage({
      steps: [
        async function* pieces() {
          yield* deltas('my secret ').slice(0, 1);
          await new Promise(() => {});
        },
      ],
      runConfig: {streamingMode: 'sse'},
      runner: {plugins: [rewrites]},
    });
    const run = it.run();
    expect(line((await run.next()).value as Event)).toBe('root: "my secret " [partial]');
    await run.return();
    const other = await stage({steps: [functionCalls({name: 'patient'})], agent: {tools: [patient]}, runner: {plugins: [rewrites]}});
    const stop = new AbortController();
    await meanwhile(() => stop.abort())(other.run('go', {abortSignal: stop.signal}), other, stop);
    expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "my *** " [stopped]']);
    expect((await other.stored()).map(line)).toEqual(['user: "go"', 'root: patient({})', 'root: patient={"error":"stopped"}']);
    expect(seen).toEqual([
      'root: "my secret " [stopped]',
      'root: patient({})',
      'root: patient={"error":"cancelled; it may have taken effect","started":true}',
    ]);
  });

  test('that never lets go does not keep the calls from being answered, and its late answer goes nowhere', async () => {
    vi.useFakeTimers();
    try {
      let late: (event: undefined) => void = () => {};
      const deaf = pluginOf('deaf', {
        onEventCallback: ({event}) => (line(event).includes('=') ? new Promise((resolve) => (late = resolve)) : undefined),
      });
      const it = await stage({
        steps: [functionCalls({name: 'echo'})],
        agent: {tools: [echo]},
        runConfig: {abortGraceMs: 100},
        runner: {plugins: [deaf]},
      });
      const run = it.run();
      await run.next();
      void run.next().catch(() => {});
      await vi.advanceTimersByTimeAsync(0);
      const leaving = run.return();
      await vi.advanceTimersByTimeAsync(102);
      await leaving;
      const stored = ['user: "go"', 'root: echo({})', 'root: echo={"error":"cancelled; it may have taken effect","started":true}'];
      expect((await it.stored()).map(line)).toEqual(stored);
      expect(it.diagnostics).toMatchObject([
        {code: 'WORK_ABANDONED', name: 'onEventCallback of deaf'},
        {code: 'CLOSE_FAILED', name: 'onEventCallback'},
      ]);
      late(undefined);
      await vi.advanceTimersByTimeAsync(1_000);
      expect((await it.stored()).map(line)).toEqual(stored);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe.each([
  'onUserMessageCallback',
  'beforeRunCallback',
  'onEventCallback',
  'beforeAgentCallback',
  'beforeModelCallback',
  'afterModelCallback',
  'beforeToolCallback',
  'afterToolCallback',
] as const)('a stop while %s is under way', (hook) => {
  test('waits for it no longer than abortGraceMs, tells of it, and lets nothing happen afterwards', async () => {
    vi.useFakeTimers();
    try {
      const log: string[] = [];
      const {hook: wait, called} = deafHook();
      const it = await stage({
        steps: [functionCalls({name: 'echo'}), 'done'],
        agent: {tools: [echo]},
        runConfig: {abortGraceMs: 100},
        runner: {plugins: [pluginOf('deaf', {[hook]: wait}), noting('all', log)]},
      });
      const stop = new AbortController();
      const reading = collect(it.run('go', {abortSignal: stop.signal}));
      await vi.advanceTimersByTimeAsync(0);
      await called;
      const before = log.length;
      stop.abort(new Error('enough'));
      await vi.advanceTimersByTimeAsync(110);
      const {error, outcome} = await reading;
      expect(error).toBe(stop.signal.reason);
      expect(outcome.abandoned.at(-1)).toBe(`${hook} of deaf`);
      // Only what tells of the end, and of what the closing stores.
      expect(log.slice(before).filter((entry) => !/after(Run|Agent)|onEvent/.test(entry))).toEqual([]);
      expect(log.filter((entry) => entry === 'all afterRunCallback')).toHaveLength(1);
      expectValid(await it.stored());
      expectNoListeners(stop.signal);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('a deaf afterRunCallback holds up neither the end for longer than closeTimeoutMs nor that of the other plugins', async () => {
  vi.useFakeTimers();
  try {
    const log: string[] = [];
    const it = await stage({
      steps: [hang()],
      runConfig: {closeTimeoutMs: 200},
      runner: {plugins: [pluginOf('deaf', {afterRunCallback: deafHook().hook}), noting('all', log)]},
    });
    const run = it.run();
    void run.next();
    await vi.advanceTimersByTimeAsync(0);
    const leaving = run.return();
    await vi.advanceTimersByTimeAsync(201);
    await leaving;
    expect(log.at(-1)).toBe('all afterRunCallback');
    expect((await run.settled).abandoned).toEqual(['afterRunCallback of deaf']);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

describe('runner.close()', () => {
  test('closes each plugin once; one that fails or does not let go is a diagnostic and holds up no other', async () => {
    vi.useFakeTimers();
    try {
      const log: string[] = [];
      const it = await stage({
        runConfig: {closeTimeoutMs: 200},
        runner: {
          plugins: [
            pluginOf('deaf', {close: deafHook().hook}),
            pluginOf('bad', {close: () => Promise.reject(new Error('stuck'))}),
            noting('good', log),
          ],
        },
      });
      const closing = Promise.all([it.runner.close(), it.runner.close()]);
      await vi.advanceTimersByTimeAsync(0);
      expect(log).toEqual(['good close']);
      await vi.advanceTimersByTimeAsync(200);
      await closing;
      await it.runner.close();
      expect(log).toEqual(['good close']);
      expect(it.diagnostics).toMatchObject([
        {code: 'CLOSE_FAILED', name: 'bad', cause: {message: 'stuck'}},
        {code: 'CLOSE_FAILED', name: 'deaf', cause: {name: 'TimeoutError'}},
      ]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

test('onRunErrorCallback is told also of what a store or another hook failed with, and its own failure is a diagnostic', async () => {
  const told: unknown[] = [];
  const tells = pluginOf('tells', {
    onRunErrorCallback: ({error}) => {
      told.push(error);
      throw new Error('of my own');
    },
  });
  const full = new (class extends InMemorySessionService {
    override appendEvent(request: AppendEventRequest): Promise<Event> {
      return request.event.author === 'root' ? Promise.reject(new Error('disk full')) : super.appendEvent(request);
    }
  })();
  const bad = pluginOf('bad', {
    onEventCallback: () => {
      throw new Error('not that');
    },
  });
  const hooks = await stage({steps: ['done'], runner: {plugins: [tells, bad]}});
  const diagnostics: Diagnostic[] = [];
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps: ['done']})}),
    sessionService: full,
    plugins: [tells],
    autoCreateSession: true,
    onDiagnostic: (it) => diagnostics.push(it),
  });
  const errors = [
    (await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: [{text: 'go'}]}}))).error,
    (await collect(hooks.run())).error,
  ];
  expect(errors).toMatchObject([{message: 'disk full'}, {hook: 'onEventCallback'}]);
  expect(told).toEqual(errors);
  const own = {code: 'CLOSE_FAILED', cause: {message: '`onRunErrorCallback` of `tells` threw: of my own'}};
  expect([diagnostics, hooks.diagnostics]).toMatchObject([[own], [own]]);
});

test('the deadline of a run is a stop: its reason is known, and the hooks for errors see nothing of it', async () => {
  const log: string[] = [];
  const it = await stage({steps: [hang()], runConfig: {timeoutMs: 20}, runner: {plugins: [noting('all', log)]}});
  const {error} = await collect(it.run());
  expect(error).toBeInstanceOf(RunTimeoutError);
  expect(log.filter((entry) => entry.includes('Error'))).toEqual([]);
});
