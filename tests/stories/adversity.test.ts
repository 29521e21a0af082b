import {expect, test, vi} from 'vitest';
import {
  BaseAgent,
  BaseLlm,
  BaseToolset,
  ContextRevokedError,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  Runner,
  StreamingMode,
  type AppendEventRequest,
  type BaseTool,
  ToolExecutionMode,
  type Event,
  type EventActions,
  type InvocationContext,
  type LlmRequest,
  type LlmResponse,
} from 'sluice';
import {collect, functionCalls, hang, ScriptedLlm, text} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, stage} from './kit.ts';

type Generate = (request: LlmRequest, stream: boolean, abortSignal: AbortSignal) => AsyncGenerator<LlmResponse, void, undefined>;

class Model extends BaseLlm {
  readonly #generate: Generate;
  constructor(generate: Generate) {
    super({model: 'hand-made'});
    this.#generate = generate;
  }
  override generateContentAsync(request: LlmRequest, stream: boolean, abortSignal: AbortSignal) {
    return this.#generate(request, stream, abortSignal);
  }
}

const partial = (value: string): LlmResponse => ({partial: true, content: {role: 'model', parts: [{text: value}]}});
const forever = () => new Promise<never>(() => {});
const message = {role: 'user', parts: [{text: 'go'}]};

test.each([
  [
    'throws at once',
    () => {
      throw new Error('del');
    },
  ],
  ['returns no promise', () => undefined as unknown as Promise<void>],
])('an ephemeral run ends also when deleteSession %s', async (_, deleteSession) => {
  const service = Object.assign(new InMemorySessionService(), {deleteSession});
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps: ['x']})}),
    sessionService: service,
    onDiagnostic: () => {},
  });
  expect((await collect(runner.runEphemeral({userId: 'u', newMessage: message}))).outcome.kind).toBe('done');
});

test('a failing hook ends the run at once, although the model waits for its signal before it lets go', async () => {
  const model = new Model(async function* (_request, _stream, abortSignal) {
    try {
      yield partial('a');
      yield text('ab');
    } finally {
      await new Promise<void>((resolve) => (abortSignal.aborted ? resolve() : abortSignal.addEventListener('abort', () => resolve())));
    }
  });
  const it = await stage({
    agent: {model, afterModelCallback: () => Promise.reject(new Error('hook'))},
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  expect((await collect(it.run())).error).toMatchObject({name: 'HookError', hook: 'afterModelCallback'});
});

test('a model that never lets go is left behind after the grace', async () => {
  const model = new Model(async function* () {
    try {
      yield null as unknown as LlmResponse;
    } finally {
      await forever();
    }
  });
  const it = await stage({agent: {model}, runConfig: {abortGraceMs: 10}});
  expect((await collect(it.run())).error).toMatchObject({name: 'ModelError', code: 'INVALID_RESPONSE'});
});

test.each([
  ['a string', 'text'],
  ['parts that are none', {content: {role: 'model', parts: [null]}}],
])('a model that gives %s is a ModelError', async (_, response) => {
  const it = await stage({
    agent: {
      model: new Model(async function* () {
        yield response as LlmResponse;
      }),
    },
  });
  expect((await collect(it.run())).error).toMatchObject({name: 'ModelError', code: 'INVALID_RESPONSE'});
  expect(it.diagnostics).toEqual([]);
});

test('a run whose signal was aborted before is not kept', async () => {
  const it = await stage({steps: ['never']});
  for (let n = 0; n < 3; n++)
    await it
      .run('go', {abortSignal: AbortSignal.abort()})
      .next()
      .catch(() => {});
  expect(await it.runner.cancel({userId: 'u', sessionId: 's'})).toBe(0);
});

test('return() called by a listener of the stop waits until the session is closed, and the pending next() keeps its reason', async () => {
  const stop = new AbortController();
  const returned = Promise.withResolvers<number>();
  const tool = new FunctionTool({
    name: 'listens',
    description: 'Listens.',
    execute: (_args, {abortSignal}) =>
      new Promise((_, reject) =>
        abortSignal.addEventListener('abort', () => {
          void run.return().then(async () => returned.resolve((await it.stored()).length));
          setTimeout(() => reject(new Error('late')), 20);
        }),
      ),
  });
  const it = await stage({steps: [functionCalls({name: 'listens'})], agent: {tools: [tool]}});
  const run = it.run('go', {abortSignal: stop.signal});
  await run.next();
  const next = run.next().catch((error: unknown) => error);
  await idle();
  stop.abort(new Error('mine'));
  expect(await next).toBe(stop.signal.reason);
  expect(await returned.promise).toBe(3);
  expectNoListeners(stop.signal);
});

test('next() called by a listener of the stop waits for the closing too', async () => {
  const stop = new AbortController();
  const model = new Model(async function* (_request, _stream, abortSignal) {
    abortSignal.addEventListener('abort', () => void run.next().catch(() => {}));
    try {
      yield partial('a');
      yield text('ab');
    } finally {
      await forever();
    }
  });
  const it = await stage({agent: {model}, runConfig: {streamingMode: StreamingMode.SSE, abortGraceMs: 10}});
  const run = it.run('go', {abortSignal: stop.signal});
  await run.next();
  stop.abort(new Error('mine'));
  expect(await run.settled).toMatchObject({kind: 'abort', abandoned: ['model hand-made']});
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "a" [stopped]']);
  await run.return();
});

test('what hooks write is kept when the body that they stand around is left behind', async () => {
  const it = await stage({
    steps: [functionCalls({name: 'deaf'}), 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'deaf',
          description: 'Never answers.',
          timeoutMs: 10,
          execute: (_args, {state}) => {
            state.set('body', true);
            return forever();
          },
        }),
      ],
      beforeToolCallback: ({context}) => context.state.set('before', true),
      onToolErrorCallback: ({context}) => {
        context.state.set('failed', context.state.get('before'));
        return {ok: 1};
      },
      afterToolCallback: ({context}) => context.state.set('after', context.state.get('failed')),
    },
    runConfig: {abortGraceMs: 10},
  });
  await collect(it.run());
  expect(await it.state()).toEqual({before: true, failed: true, after: true});
});

test('a hook that changes the configuration of a request changes that request only', async () => {
  const generateContentConfig = {safetySettings: [], labels: {}};
  const it = await stage({
    steps: ['a', 'b'],
    agent: {
      generateContentConfig,
      beforeModelCallback: ({request}) => {
        request.config.safetySettings?.push({});
        Object.assign(request.config.labels ?? {}, {n: '1'});
        return undefined;
      },
    },
  });
  await collect(it.run());
  await collect(it.run());
  expect(it.model.requests[1]?.config).toMatchObject({safetySettings: [{}], labels: {n: '1'}});
  expect(generateContentConfig).toEqual({safetySettings: [], labels: {}});
});

test('an observer of diagnostics that fails later, or already at construction, changes nothing', async () => {
  const rejections: unknown[] = [];
  const listen = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', listen);
  try {
    for (const onDiagnostic of [
      async () => {
        throw new Error('later');
      },
      () => {
        throw new Error('at once');
      },
    ]) {
      const it = await stage({
        steps: ['done'],
        runner: {onDiagnostic},
        runConfig: {supportCfc: true},
      });
      expect((await collect(it.run('go', {runConfig: {proactivity: {}}}))).outcome.kind).toBe('done');
      await it.runner.close();
    }
    await idle();
    expect(rejections).toEqual([]);
  } finally {
    process.off('unhandledRejection', listen);
  }
});

test("what a model gives besides a response's own keys does not become the event's", async () => {
  const it = await stage({
    agent: {
      model: new Model(async function* () {
        yield {...text('x'), id: 'msg_1', author: 'user', timestamp: 0, actions: null} as LlmResponse;
      }),
    },
  });
  await collect(it.run());
  await collect(it.run());
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "x"', 'user: "go"', 'root: "x"']);
  expectValid(await it.stored());
});

test('an append under way is finished when an agent stops its own run in between', async () => {
  const order: string[] = [];
  const stop = new AbortController();
  class Slow extends InMemorySessionService {
    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      order.push('append');
      await idle();
      const stored = await super.appendEvent(request);
      order.push('appended');
      return stored;
    }
  }
  class Own extends BaseAgent {
    protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: '1'}]}});
      stop.abort();
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: '2'}]}});
    }
  }
  const sessionService = new Slow();
  const runner = new Runner({appName: 'app', agent: new Own({name: 'own'}), sessionService, autoCreateSession: true});
  const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage: message, abortSignal: stop.signal});
  await run.next();
  await run.next().catch(() => order.push('rejected'));
  expect(order).toEqual(['append', 'appended', 'append', 'appended', 'rejected']);
});

test('what a custom agent yields after the stop is not stored', async () => {
  class Stubborn extends BaseAgent {
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      try {
        for (const agent of this.subAgents) yield* agent.runAsync(context);
      } catch {
        yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'caught'}]}});
      }
    }
  }
  const started = Promise.withResolvers<void>();
  const tool = new FunctionTool({
    name: 'waits',
    description: 'Waits.',
    execute: (_args, {abortSignal}) => {
      started.resolve();
      return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason)));
    },
  });
  const inner = new LlmAgent({name: 'inner', model: new ScriptedLlm({steps: [functionCalls({name: 'waits'})]}), tools: [tool]});
  const it = await stage({runner: {agent: new Stubborn({name: 'outer', subAgents: [inner]})}});
  const stop = new AbortController();
  const reading = collect(it.run('go', {abortSignal: stop.signal}));
  await started.promise;
  stop.abort();
  await reading;
  expect((await it.stored()).map(line)).toEqual([
    'user: "go"',
    'inner: waits({})',
    'inner: waits={"error":"cancelled; it may have taken effect","started":true}',
  ]);
});

test('an agent that is left behind is named, and its context is cut off', async () => {
  let kept: InvocationContext | undefined;
  class Sleeper extends BaseAgent {
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      kept = context;
      await forever();
    }
  }
  const it = await stage({runner: {agent: new Sleeper({name: 'sleeper'})}, runConfig: {abortGraceMs: 10}});
  const run = it.run();
  void run.next();
  await vi.waitUntil(() => kept);
  await run.return();
  expect(await run.settled).toMatchObject({abandoned: ['agent sleeper']});
  expect(kept?.abortSignal.aborted).toBe(true);
  expect(kept?.agentName).toBe('sleeper');
  for (const member of ['session', 'sessionService', 'userContent'] as const) expect(() => kept?.[member]).toThrow(ContextRevokedError);
});

test('close() does not wait for ever for a toolset', async () => {
  class Stuck extends BaseToolset {
    async getTools(): Promise<BaseTool[]> {
      return [];
    }
    close(): Promise<void> {
      return forever();
    }
  }
  const it = await stage({agent: {tools: [new Stuck()]}, runConfig: {closeTimeoutMs: 10}});
  await it.runner.close();
  expect(it.diagnostics).toMatchObject([{code: 'CLOSE_FAILED', name: 'Stuck', cause: {name: 'TimeoutError'}}]);
});

test('a foreign iterator that is left behind in next() is told to return', async () => {
  const told: string[] = [];
  const deaf = (who: string): AsyncGenerator<never, void, undefined> =>
    ({
      next: forever,
      return: async () => {
        told.push(who);
        return {done: true, value: undefined};
      },
      [Symbol.asyncIterator]() {
        return this;
      },
    }) as unknown as AsyncGenerator<never, void, undefined>;
  const asModel = await stage({agent: {model: new Model(() => deaf('model'))}, runConfig: {abortGraceMs: 10}});
  const asTool = await stage({
    steps: [functionCalls({name: 'deaf'})],
    agent: {tools: [new FunctionTool({name: 'deaf', description: 'Deaf.', execute: () => deaf('tool')})]},
    runConfig: {abortGraceMs: 10},
  });
  for (const it of [asModel, asTool]) {
    const run = it.run();
    const reading = collect(run);
    await idle();
    await idle();
    await run.return();
    await reading;
  }
  expect(told).toEqual(['model', 'tool']);
});

test("context.userContent is the run's own copy of the message", async () => {
  const newMessage = {role: 'user', parts: [{text: 'as given'}]};
  const it = await stage({
    steps: ['done'],
    agent: {
      beforeModelCallback: ({context}) => {
        const part = context.userContent?.parts?.[0];
        if (part) part.text = 'changed';
        return undefined;
      },
    },
  });
  await collect(it.run('', {newMessage}));
  expect(newMessage.parts[0]?.text).toBe('as given');
});

test('a run can be left and asked again in any order once it has ended', async () => {
  const it = await stage({steps: [hang()]});
  const run = it.run();
  const pending = run.next();
  await idle();
  const results = await Promise.allSettled([
    run.return(),
    run.next(),
    run.throw(new Error('after')),
    run[Symbol.asyncDispose](),
    run.next(),
    pending,
  ]);
  expect(results.map(({status}) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled', 'fulfilled', 'fulfilled']);
  expect(await run.settled).toMatchObject({kind: 'return'});
});

test('a selector whose invocationId is undefined selects by session', async () => {
  const it = await stage({steps: [hang()]});
  const run = it.run();
  const pending = run.next().catch(() => 'stopped');
  await idle();
  expect(await it.runner.cancel({invocationId: undefined, userId: 'u', sessionId: 's'})).toBe(1);
  expect(await pending).toBe('stopped');
});

test('an event with a part that is none is refused before it is stored', async () => {
  class Odd extends BaseAgent {
    protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'a'}, null as never]}});
    }
  }
  const it = await stage({runner: {agent: new Odd({name: 'odd'})}});
  expect((await collect(it.run())).error).toMatchObject({name: 'InvalidOptionError', message: expect.stringContaining('content.parts')});
  expect((await it.stored()).map(line)).toEqual(['user: "go"']);
});

test("a store that keeps shallow copies does not let a reader change the run's history", async () => {
  class Shallow extends InMemorySessionService {
    override async appendEvent({session, event}: AppendEventRequest): Promise<Event> {
      session.events.push({...event});
      return event;
    }
  }
  const model = new ScriptedLlm({steps: [functionCalls({name: 'look', args: {at: 'this'}}), 'done']});
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    parameters: {type: 'object', properties: {at: {type: 'string'}}},
    execute: () => ({seen: true}),
  });
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model, tools: [look]}),
    sessionService: new Shallow(),
    autoCreateSession: true,
  });
  for await (const event of runner.runAsync({userId: 'u', sessionId: 's', newMessage: message})) {
    const part = event.content?.parts?.[0];
    Object.assign(part?.functionCall?.args ?? {}, {at: 'that'});
    Object.assign(part?.functionResponse?.response ?? {}, {seen: false});
  }
  expect(
    model.requests[1]?.contents.slice(1).map(({parts}) => parts?.[0]?.functionCall?.args ?? parts?.[0]?.functionResponse?.response),
  ).toEqual([{at: 'this'}, {seen: true}]);
});

test('responses that a store could not take are stored by the closing', async () => {
  let failures = 0;
  class Flaky extends InMemorySessionService {
    override async appendEvent(request: AppendEventRequest): Promise<Event> {
      if (request.event.content?.parts?.[0]?.functionResponse && failures++ === 0) throw new Error('once');
      return super.appendEvent(request);
    }
  }
  const sessionService = new Flaky();
  const model = new ScriptedLlm({steps: [functionCalls({name: 'pay'})]});
  const pay = new FunctionTool({name: 'pay', description: 'Pays.', execute: () => 'paid'});
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model, tools: [pay]}),
    sessionService,
    autoCreateSession: true,
  });
  const {error} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: message}));
  expect(error).toMatchObject({message: 'once'});
  const session = await sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
  expect(session?.events.map(line)).toEqual(['user: "go"', 'root: pay({})', 'root: pay={"result":"paid"}']);
});

test('an ephemeral run that is stopped while its session is being made leaves none behind', async () => {
  const made = Promise.withResolvers<void>();
  class Slow extends InMemorySessionService {
    override async createSession(request: Parameters<InMemorySessionService['createSession']>[0]) {
      await made.promise;
      return super.createSession(request);
    }
  }
  const sessionService = new Slow();
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model: new ScriptedLlm()}),
    sessionService,
    runConfig: {abortGraceMs: 5},
    onDiagnostic: () => {},
  });
  const run = runner.runEphemeral({userId: 'u', newMessage: message});
  void run.next();
  await idle();
  await run.return();
  made.resolve();
  await idle();
  expect((await sessionService.listSessions({appName: 'app'})).sessions).toEqual([]);
});

test.each([
  ['a BigInt in the delta', (actions: EventActions) => void (actions.stateDelta['big'] = 5n)],
  ['no delta at all', (actions: EventActions) => void (actions.stateDelta = 'none' as never)],
  ['a function', (actions: EventActions) => void Object.assign(actions, {later: () => {}})],
])('a tool that writes %s into its actions fails alone', async (_, write) => {
  for (const toolExecutionMode of [ToolExecutionMode.PARALLEL, ToolExecutionMode.SEQUENTIAL]) {
    const bad = new FunctionTool({name: 'bad', description: 'Writes.', execute: (_args, {actions}) => write(actions)});
    const good = new FunctionTool({name: 'good', description: 'Answers.', execute: () => 'ok'});
    const it = await stage({
      steps: [functionCalls({name: 'bad'}, {name: 'good'}), 'done'],
      agent: {tools: [bad, good]},
      runConfig: {toolExecutionMode},
    });
    const {events, outcome} = await collect(it.run());
    expect(outcome.kind).toBe('done');
    expect(events[1]?.content?.parts?.map((part) => part.functionResponse?.response)).toEqual([
      {error: expect.stringContaining('actions')},
      {result: 'ok'},
    ]);
  }
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no');
    },
  ],
  ['gives no promise', () => undefined],
])('a body whose iterator %s at its return() times out alone', async (_, giveUp) => {
  const body = {
    [Symbol.asyncIterator]() {
      return this;
    },
    next: forever,
    return: giveUp,
  };
  const bad = new FunctionTool({name: 'bad', description: 'Hangs.', timeoutMs: 5, execute: () => body});
  const good = new FunctionTool({name: 'good', description: 'Answers.', execute: () => 'ok'});
  const it = await stage({
    steps: [functionCalls({name: 'bad'}, {name: 'good'}), 'done'],
    agent: {tools: [bad, good]},
    runConfig: {abortGraceMs: 5},
  });
  const {events, outcome} = await collect(it.run());
  expect(outcome.kind).toBe('done');
  expect(line(events[1] as Event)).toBe('root: bad={"error":"The tool `bad` did not end within 5 ms"} good={"result":"ok"}');
});

test('what a store has taken back is not sent to the model again', async () => {
  class Redacting extends InMemorySessionService {
    redacts = false;
    override async getSession(request: Parameters<InMemorySessionService['getSession']>[0]) {
      const session = await super.getSession(request);
      if (session && this.redacts)
        session.events[2] = createEvent({...session.events[2], content: {role: 'user', parts: [{text: '[taken back]'}]}});
      return session;
    }
  }
  const sessionService = new Redacting();
  const model = new ScriptedLlm({steps: ['a', 'b', 'c']});
  const runner = new Runner({appName: 'app', agent: new LlmAgent({name: 'root', model}), sessionService, autoCreateSession: true});
  const say = (value: string) => collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: [{text: value}]}}));
  await say('first');
  await say('secret');
  sessionService.redacts = true;
  await say('third');
  expect(model.requests[2]?.contents.map(({parts}) => parts?.[0]?.text)).toEqual(['first', 'a', '[taken back]', 'b', 'third']);
});

test('an agent whose runAsyncImpl is no generator is a clear error', async () => {
  class Wrong extends BaseAgent {
    protected runAsyncImpl() {
      return Promise.resolve() as never;
    }
  }
  const it = await stage({runner: {agent: new Wrong({name: 'wrong'})}});
  expect((await collect(it.run())).error).toMatchObject({
    name: 'InvalidOptionError',
    message: expect.stringContaining('wrong.runAsyncImpl'),
  });
});

test('a message that puts words into the mouth of the model is refused', async () => {
  const it = await stage({steps: ['never']});
  const newMessage = {role: 'user', parts: [{text: 'hey'}, {functionCall: {id: 'f1', name: 't', args: {}}}]};
  expect((await collect(it.run('', {newMessage}))).error).toMatchObject({
    name: 'InvalidOptionError',
    message: expect.stringContaining('functionCall'),
  });
  expect(await it.stored()).toEqual([]);
});

test('a promise that a body forgot to await is told as an error', async () => {
  const forgetful = new FunctionTool({name: 'forgetful', description: 'Forgets.', execute: () => ({weather: Promise.resolve('sunny')})});
  const it = await stage({steps: [functionCalls({name: 'forgetful'}), 'done'], agent: {tools: [forgetful]}});
  const {events} = await collect(it.run());
  expect(events[1]?.content?.parts?.[0]?.functionResponse?.response).toEqual({
    error: expect.stringContaining('The result holds a promise in `weather`; it has to be awaited'),
  });
});
