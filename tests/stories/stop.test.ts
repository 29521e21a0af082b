import {expect, test, vi} from 'vitest';
import {
  BaseAgent,
  BaseSessionService,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  Runner,
  StreamingMode,
  ToolExecutionMode,
  type AppendEventRequest,
  type Content,
  type CreateSessionRequest,
  type Diagnostic,
  type Event,
  type GetSessionRequest,
  type InvocationContext,
  type ListSessionsResponse,
  type Session,
} from 'sluice';
import {collect, deaf, deltas, functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, lines, stage} from './kit.ts';

const message = {role: 'user', parts: [{text: 'go'}]};

/** A tool that waits until its signal fires, and then throws its reason. */
const patient = (started: string[] = []) =>
  new FunctionTool({
    name: 'patient',
    description: 'Waits for its signal.',
    execute: (_args, {abortSignal}) => {
      started.push('patient');
      return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    },
  });

const deafTool = () => new FunctionTool({name: 'deaf', description: 'Never answers.', execute: () => new Promise(() => {})});

const quick = () => new FunctionTool({name: 'quick', description: 'Answers at once.', execute: () => 'ready'});

test('a stop while tools run and queue fires their signals, starts nothing more, and answers every call in one closing event', async () => {
  const started: string[] = [];
  const stop = new AbortController();
  const it = await stage({
    steps: [functionCalls({name: 'quick'}, {name: 'patient'}, {name: 'patient'})],
    agent: {tools: [quick(), patient(started)]},
    runConfig: {maxConcurrentTools: 1},
  });
  const run = it.run('go', {abortSignal: stop.signal});
  const reading = collect(run);
  await vi.waitUntil(() => started.length === 1);
  stop.abort(new Error('enough'));
  const {events, error} = await reading;
  expect(error).toBe(stop.signal.reason);
  expect(events.map(line)).toEqual(['root: quick({}) patient({}) patient({})']);
  expect((await it.stored()).map(line)).toEqual([
    'user: "go"',
    'root: quick({}) patient({}) patient({})',
    'root: quick={"result":"ready"} patient={"error":"cancelled; it may have taken effect","started":true} patient={"error":"cancelled","started":false}',
  ]);
  expectValid(await it.stored());
  expect(started).toEqual(['patient']);
  expect(it.model.calls).toBe(1);
  expectNoListeners(stop.signal);
});

test('a stop between the call and its tools answers the calls as not started', async () => {
  const it = await stage({steps: [functionCalls({name: 'quick'}, {name: 'quick'})], agent: {tools: [quick()]}});
  for await (const event of it.run()) {
    expect(line(event)).toBe('root: quick({}) quick({})');
    break;
  }
  expect((await it.stored()).map(line).at(-1)).toBe(
    'root: quick={"error":"cancelled","started":false} quick={"error":"cancelled","started":false}',
  );
  it.model.enqueue('again');
  expect(await lines(it.run('next'))).toEqual(['root: "again"']);
});

test('a value that comes within the grace is completed work; a throw is a cancellation, whatever was thrown', async () => {
  const stop = new AbortController();
  const saves = new FunctionTool({
    name: 'saves',
    description: 'Saves what it has.',
    execute: (_args, {abortSignal, state}) =>
      new Promise((resolve) =>
        abortSignal.addEventListener('abort', () => {
          state.set('saved', true);
          resolve('saved');
        }),
      ),
  });
  const breaks = new FunctionTool({
    name: 'breaks',
    description: 'Breaks.',
    execute: (_args, {abortSignal}) =>
      new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(new Error('of its own')))),
  });
  const it = await stage({steps: [functionCalls({name: 'saves'}, {name: 'breaks'})], agent: {tools: [saves, breaks]}});
  const reading = collect(it.run('go', {abortSignal: stop.signal}));
  await vi.waitUntil(() => it.model.calls === 1);
  await idle();
  stop.abort();
  await reading;
  expect((await it.stored()).map(line).at(-1)).toBe(
    'root: saves={"result":"saved"} breaks={"error":"cancelled; it may have taken effect","started":true}',
  );
  expect(await it.state()).toEqual({saved: true});
});

test('a deaf tool is waited for as long as the grace, then left behind and named', async () => {
  vi.useFakeTimers();
  try {
    const it = await stage({steps: [functionCalls({name: 'deaf'})], agent: {tools: [deafTool()]}, runConfig: {abortGraceMs: 100}});
    const run = it.run();
    await run.next();
    void run.next();
    await vi.advanceTimersByTimeAsync(0);
    let left = false;
    const leaving = run.return().then(() => (left = true));
    await vi.advanceTimersByTimeAsync(99);
    expect(left).toBe(false);
    await vi.advanceTimersByTimeAsync(2);
    await leaving;
    expect(await run.settled).toMatchObject({kind: 'return', abandoned: ['deaf']});
    expect(it.diagnostics).toMatchObject([{code: 'TOOL_ABANDONED', name: 'deaf'}]);
    expect((await it.stored()).map(line).at(-1)).toBe('root: deaf={"error":"cancelled; it may have taken effect","started":true}');
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a deaf tool is named also where a sibling keeps the event loop busy when its signal fires', async () => {
  vi.useFakeTimers();
  try {
    const busy = new FunctionTool({
      name: 'busy',
      description: 'Is busy when its signal fires.',
      execute: (_args, {abortSignal}) =>
        new Promise((_, reject) => {
          abortSignal.addEventListener('abort', () => {
            vi.advanceTimersByTime(20);
            reject(abortSignal.reason as Error);
          });
        }),
    });
    const it = await stage({
      steps: [functionCalls({name: 'busy'}, {name: 'deaf'})],
      agent: {tools: [busy, deafTool()]},
      runConfig: {abortGraceMs: 100},
    });
    const run = it.run();
    await run.next();
    void run.next();
    await vi.advanceTimersByTimeAsync(0);
    const leaving = run.return();
    await vi.advanceTimersByTimeAsync(200);
    await leaving;
    expect(await run.settled).toMatchObject({kind: 'return', abandoned: ['deaf']});
    expect(it.diagnostics).toMatchObject([{code: 'TOOL_ABANDONED', name: 'deaf'}]);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test.each([
  ['a deaf model', {steps: [deaf()]}, 'model scripted'],
  ['a deaf hook', {steps: ['never'], agent: {beforeModelCallback: () => new Promise<undefined>(() => {})}}, 'beforeModelCallback of root'],
  ['a deaf instruction', {steps: ['never'], agent: {instruction: () => new Promise<string>(() => {})}}, 'instruction of root'],
])('%s is left behind after the grace', async (_, options, name) => {
  vi.useFakeTimers();
  try {
    const it = await stage({...options, runConfig: {abortGraceMs: 100}});
    const run = it.run();
    const pending = run.next();
    await vi.advanceTimersByTimeAsync(0);
    const leaving = run.return();
    await vi.advanceTimersByTimeAsync(101);
    await leaving;
    expect(await pending).toEqual({done: true, value: undefined});
    expect(await run.settled).toMatchObject({kind: 'return', abandoned: [name]});
    expect(it.diagnostics).toMatchObject([{code: 'WORK_ABANDONED', name}]);
    expect((await it.stored()).map(line)).toEqual(['user: "go"']);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('streamed text is kept as the model event, without calls, with the last usage', async () => {
  const partial = (part: object, usage?: object) => ({partial: true, content: {role: 'model', parts: [part]}, ...usage});
  const it = await stage({
    steps: [
      async function* () {
        yield partial({text: 'think', thought: true});
        yield partial({text: 'Good '});
        yield partial({text: 'day'}, {usageMetadata: {totalTokenCount: 7}});
        yield partial({functionCall: {name: 'quick', args: {}}});
        await new Promise(() => {});
      },
    ],
    agent: {tools: [quick()]},
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  const run = it.run();
  for (let n = 0; n < 4; n++) await run.next();
  await run.return();
  const last = (await it.stored()).at(-1);
  expect(last && line(last)).toBe('root: ~"think" "Good day" [stopped]');
  expect(last?.usageMetadata).toEqual({totalTokenCount: 7});
  expect(await run.settled).toMatchObject({usage: {totalTokenCount: 7}, lastEventId: last?.id});
});

test('a model that fails mid stream ends the run with its error, and its text is kept', async () => {
  const it = await stage({
    steps: [
      async function* () {
        yield {partial: true, content: {role: 'model', parts: [{text: 'half'}]}};
        throw new Error('cut');
      },
    ],
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  const {error, events} = await collect(it.run());
  expect(error).toMatchObject({name: 'ModelError', message: 'cut'});
  expect(events.map(line)).toEqual(['root: "half" [partial]']);
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "half" [stopped]']);
});

test('an abort is no failure: onError hooks do not see it', async () => {
  const seen: unknown[] = [];
  const stop = new AbortController();
  const it = await stage({
    steps: [functionCalls({name: 'patient'})],
    agent: {
      tools: [patient()],
      onToolErrorCallback: ({error}) => void seen.push(error),
      onModelErrorCallback: ({error}) => void seen.push(error),
    },
  });
  const reading = collect(it.run('go', {abortSignal: stop.signal}));
  await vi.waitUntil(() => it.model.calls === 1);
  await idle();
  stop.abort();
  await reading;

  const later = new AbortController();
  it.model.enqueue(hang());
  const second = collect(it.run('go', {abortSignal: later.signal}));
  await vi.waitUntil(() => it.model.calls === 2);
  later.abort();
  await second;
  expect(seen).toEqual([]);
});

test('afterAgentCallback runs once on every end, with a signal that has not fired, and what it says is stored', async () => {
  const seen: boolean[] = [];
  const afterAgentCallback = ({abortSignal, state}: {abortSignal: AbortSignal; state: {set(key: string, value: unknown): void}}) => {
    seen.push(abortSignal.aborted);
    state.set('left', seen.length);
    return undefined;
  };
  const done = await stage({steps: ['done'], agent: {afterAgentCallback}});
  await collect(done.run());
  expect(seen).toEqual([false]);

  const stopped = await stage({steps: [hang()], agent: {afterAgentCallback}});
  const run = stopped.run();
  void run.next();
  await idle();
  await run.return();
  expect(seen).toEqual([false, false]);
  expect(await stopped.state()).toEqual({left: 2});
});

test('a failure while closing is a diagnostic, never a throw', async () => {
  const it = await stage({
    steps: [hang()],
    agent: {
      afterAgentCallback: () => {
        throw new Error('in the way');
      },
    },
  });
  const run = it.run();
  void run.next();
  await idle();
  await run.return();
  expect(it.diagnostics).toMatchObject([{code: 'CLOSE_FAILED', message: expect.stringContaining('in the way')}]);
  expect(await run.settled).toMatchObject({kind: 'return'});
});

test('a custom agent around an LlmAgent is stopped with it', async () => {
  class Outer extends BaseAgent {
    readonly ends: string[] = [];
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      try {
        for (const agent of this.subAgents) yield* agent.runAsync(context);
      } finally {
        this.ends.push('finally');
      }
    }
  }
  const started: string[] = [];
  const model = new ScriptedLlm({steps: [functionCalls({name: 'patient'})]});
  const outer = new Outer({name: 'outer', subAgents: [new LlmAgent({name: 'inner', model, tools: [patient(started)]})]});
  const it = await stage({runner: {agent: outer}});
  const run = it.run();
  await run.next();
  void run.next();
  await vi.waitUntil(() => started.length === 1);
  await run.return();
  expect(outer.ends).toEqual(['finally']);
  expect((await it.stored()).map(line).at(-1)).toBe('inner: patient={"error":"cancelled; it may have taken effect","started":true}');
});

test('a deaf custom agent is left behind after the grace, and cannot write afterwards', async () => {
  const late = Promise.withResolvers<void>();
  class Deaf extends BaseAgent {
    protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
      await late.promise;
    }
  }
  vi.useFakeTimers();
  try {
    const it = await stage({runner: {agent: new Deaf({name: 'deaf'})}, runConfig: {abortGraceMs: 100}});
    const run = it.run();
    void run.next();
    await vi.advanceTimersByTimeAsync(0);
    const leaving = run.return();
    await vi.advanceTimersByTimeAsync(101);
    await leaving;
    expect(await run.settled).toMatchObject({abandoned: ['agent deaf']});
    late.resolve();
    await vi.advanceTimersByTimeAsync(10);
    expect((await it.stored()).map(line)).toEqual(['user: "go"']);
  } finally {
    vi.useRealTimers();
  }
});

/** A store over another one whose appends wait until they are let through. */
class SlowStore extends BaseSessionService {
  readonly inner: InMemorySessionService = new InMemorySessionService();
  gate: Promise<void> | undefined;
  /** The number of the append that waits at the gate, and all after it. */
  gateAt = 1;
  appends = 0;
  override createSession(request: CreateSessionRequest): Promise<Session> {
    return this.inner.createSession(request);
  }
  override getSession(request: GetSessionRequest): Promise<Session | undefined> {
    return this.inner.getSession(request);
  }
  override listSessions(request: {appName: string}): Promise<ListSessionsResponse> {
    return this.inner.listSessions(request);
  }
  override deleteSession(request: {appName: string; userId: string; sessionId: string}): Promise<void> {
    return this.inner.deleteSession(request);
  }
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    if (++this.appends >= this.gateAt) await this.gate;
    return this.inner.appendEvent(request);
  }
}

async function slowStage(steps: ConstructorParameters<typeof ScriptedLlm>[0], runConfig = {}) {
  const service = new SlowStore();
  await service.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  const model = new ScriptedLlm(steps);
  const diagnostics: Diagnostic[] = [];
  const agent = new LlmAgent({name: 'root', model, tools: [quick()]});
  const runner = new Runner({appName: 'app', agent, sessionService: service, onDiagnostic: (it) => diagnostics.push(it), runConfig});
  return {
    service,
    runner,
    diagnostics,
    stored: async () => (await service.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? [],
  };
}

test('an append that is under way at the stop is finished, and the calls that it stored are answered', async () => {
  const it = await slowStage({steps: [functionCalls({name: 'quick'})]});
  const gate = Promise.withResolvers<void>();
  const run = it.runner.runAsync({userId: 'u', sessionId: 's', newMessage: message});
  Object.assign(it.service, {gate: gate.promise, gateAt: 2});
  const pending = run.next();
  await vi.waitUntil(() => it.service.appends === 2);
  let left = false;
  const leaving = run.return().then(() => (left = true));
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(left).toBe(false);
  gate.resolve();
  await leaving;
  expect(await pending).toEqual({done: true, value: undefined});
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: quick({})', 'root: quick={"error":"cancelled","started":false}']);
});

test('a deaf store is waited for as long as closeTimeoutMs, and the session is free again', async () => {
  const it = await slowStage({steps: [functionCalls({name: 'quick'}), 'after']}, {closeTimeoutMs: 60, abortGraceMs: 10});
  const run = it.runner.runAsync({userId: 'u', sessionId: 's', newMessage: message});
  Object.assign(it.service, {gate: new Promise(() => {}), gateAt: 2});
  const pending = run.next();
  await vi.waitUntil(() => it.service.appends === 2);
  await run.return();
  await pending;
  expect(it.diagnostics.map(({code}) => code)).toContain('WORK_ABANDONED');
  it.service.gate = undefined;
  expect(await lines(it.runner.runAsync({userId: 'u', sessionId: 's', newMessage: message}))).toEqual(['root: "after"']);
});

test('an error of the store ends the run with that error', async () => {
  const it = await slowStage({steps: ['never']});
  const down = new Error('disk full');
  it.service.gate = Promise.reject(down);
  it.service.gate.catch(() => {});
  const {error, outcome} = await collect(it.runner.runAsync({userId: 'u', sessionId: 's', newMessage: message}));
  expect(error).toBe(down);
  expect(outcome.kind).toBe('error');
});

test('runs on one session follow each other; a queued one leaves the queue when it is stopped', async () => {
  const it = await stage({steps: [hang(), 'second']});
  const first = it.run('one');
  const pending = first.next();
  await idle();
  const stop = new AbortController();
  const queued = collect(it.run('two', {abortSignal: stop.signal}));
  const third = lines(it.run('three'));
  await idle();
  expect(it.model.calls).toBe(1);
  stop.abort('not now');
  expect((await queued).error).toBe('not now');
  expectNoListeners(stop.signal);
  await first.return();
  await pending;
  expect(await third).toEqual(['root: "second"']);
  expect((await it.stored()).map(line)).toEqual(['user: "one"', 'user: "three"', 'root: "second"']);
});

test('a queued run gives up after sessionWaitMs, naming the holder', async () => {
  const it = await stage({steps: [hang()]});
  const first = it.run();
  void first.next();
  await idle();
  await expect(it.run('two', {runConfig: {sessionWaitMs: 20}}).next()).rejects.toMatchObject({
    code: 'SESSION_BUSY',
    holder: first.invocationId,
  });
  await first.return();
});

test('a run that a tool starts on its own session ends in an error, not in a hang', async () => {
  const inner: unknown[] = [];
  const it = await stage({
    steps: [functionCalls({name: 'again'}), 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'again',
          description: 'Runs again.',
          execute: async () => {
            inner.push(
              await it
                .run('inner', {runConfig: {sessionWaitMs: 20}})
                .next()
                .catch((error: unknown) => (error as {code: string}).code),
            );
            return 'ok';
          },
        }),
      ],
    },
  });
  expect((await collect(it.run())).outcome.kind).toBe('done');
  expect(inner).toEqual(['SESSION_BUSY']);
});

test('a dropped iterator frees its session at the deadline', async () => {
  const it = await stage({steps: [deltas('a', 'b'), 'next']});
  await it.run('one', {runConfig: {timeoutMs: 50, streamingMode: StreamingMode.SSE}}).next();
  expect(await lines(it.run('two'))).toEqual(['root: "next"']);
});

test('an abort in the middle of five serial effects lets exactly one happen', async () => {
  const effects: number[] = [];
  const stop = new AbortController();
  const effect = new FunctionTool({
    name: 'effect',
    description: 'Has an effect.',
    execute: async () => {
      effects.push(effects.length);
      stop.abort();
    },
  });
  const it = await stage({
    steps: [functionCalls(...Array.from({length: 5}, () => ({name: 'effect'})))],
    agent: {tools: [effect]},
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
  });
  await collect(it.run('go', {abortSignal: stop.signal}));
  expect(effects).toEqual([0]);
  expect((await it.stored()).at(-1)?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    {result: null},
    ...Array.from({length: 4}, () => ({error: 'cancelled', started: false})),
  ]);
});

test('a session that a crash left with an unanswered call is repaired in the next request', async () => {
  const it = await stage({steps: ['fine']});
  const session = await it.runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
  if (!session) throw new Error('no session');
  const append = (author: string, content: Content) =>
    it.runner.sessionService.appendEvent({session, event: createEvent({author, content})});
  await append('user', {role: 'user', parts: [{text: 'go'}]});
  await append('root', {role: 'model', parts: [{functionCall: {id: 'c1', name: 'quick', args: {}}}]});
  await collect(it.run('go on'));
  const kinds = it.model.requests[0]?.contents.map((content) => content.parts?.map((part) => Object.keys(part)[0]));
  expect(kinds).toEqual([['text'], ['functionCall'], ['functionResponse'], ['text']]);
});

test('an ephemeral run leaves no session behind, however it ends', async () => {
  const it = await stage({steps: ['done', hang()]});
  expect(await lines(it.runner.runEphemeral({userId: 'u', newMessage: message}))).toEqual(['root: "done"']);
  const run = it.runner.runEphemeral({userId: 'u', newMessage: message});
  void run.next();
  await vi.waitUntil(() => it.model.calls === 2);
  await run.return();
  expect((await it.runner.sessionService.listSessions({appName: 'app'})).sessions.map(({id}) => id)).toEqual(['s']);
});
