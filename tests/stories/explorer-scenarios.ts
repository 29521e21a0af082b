import {
  BaseAgent,
  BaseSessionService,
  BaseToolset,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  type BaseAgentConfig,
  type BaseTool,
  type Event,
  type InvocationContext,
  type LlmAgentConfig,
  type LlmResponse,
  type RunConfig,
  type Session,
} from 'sluice';
import {collect, deaf, deltas, functionCalls, ScriptedLlm, type Scenario, type ScenarioFactory, type ScriptedStep} from 'sluice/testing';

/** A pause that ends at once when the signal fires, with its reason. */
export function sleep(ms: number, abortSignal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => {
      abortSignal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortSignal?.reason);
    };
    if (abortSignal?.aborted) stop();
    else abortSignal?.addEventListener('abort', stop, {once: true});
  });
}

export function message(words: string): Scenario['request']['newMessage'] {
  return {role: 'user', parts: [{text: words}]};
}

export interface Parts {
  readonly agent: () => BaseAgent;
  readonly service?: () => BaseSessionService;
  readonly runConfig?: RunConfig;
  readonly more?: Partial<Scenario>;
  /** The session exists already. Default `true`. */
  readonly hasSession?: boolean;
}

/** A run of one agent on a session of its own. */
export function scenario({
  agent,
  service = () => new InMemorySessionService(),
  runConfig = {},
  more = {},
  hasSession = true,
}: Parts): ScenarioFactory {
  return async () => {
    const sessionService = service();
    const runner = new Runner({appName: 'app', agent: agent(), sessionService, autoCreateSession: !hasSession, onDiagnostic: () => {}});
    if (hasSession) await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
    return {runner, request: {userId: 'u', sessionId: 's', newMessage: message('Hi'), runConfig}, ...more};
  };
}

export function clerk(steps: readonly ScriptedStep[], tools: readonly FunctionTool[] = [], more: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({name: 'clerk', model: new ScriptedLlm({steps}), tools, ...more});
}

export function calls(...names: readonly string[]): LlmResponse {
  return functionCalls(...names.map((name) => ({name})));
}

type Execute = ConstructorParameters<typeof FunctionTool>[0]['execute'];
type Limits = {readonly timeoutMs?: number; readonly exclusive?: boolean};

export function tool(name: string, execute: Execute, limits: Limits = {}): FunctionTool {
  return new FunctionTool({name, description: '', execute, ...limits});
}

/** A tool that answers at once. */
export function quick(name: string): FunctionTool {
  return tool(name, () => ({name}));
}

/** A tool that takes its time and heeds its signal. */
export function slow(name: string, ms: number, limits: Limits = {}): FunctionTool {
  return tool(name, async (_, {abortSignal}) => sleep(ms, abortSignal).then(() => ({name})), limits);
}

/** A tool that takes its time whatever its signal says. */
export function stubborn(name: string, ms: number, limits: Limits = {}): FunctionTool {
  return tool(name, async () => sleep(ms).then(() => ({name})), limits);
}

/** A tool that never answers. */
export function never(name: string, limits: Limits = {}): FunctionTool {
  return tool(name, () => new Promise(() => {}), limits);
}

/** A model that waits before it answers, as between two tries. */
export function after(ms: number, step: ScriptedStep): ScriptedStep {
  return (_, {abortSignal}) => sleep(ms, abortSignal).then(() => step);
}

/** A store whose writes take five ticks, or so many milliseconds, and may come to nothing. */
class SlowStore extends InMemorySessionService {
  readonly #ms: number;
  readonly #fates: Readonly<Record<number, 'hang' | 'fail'>>;
  #appends = 0;

  constructor(ms: number, fates: Readonly<Record<number, 'hang' | 'fail'>> = {}) {
    super();
    this.#ms = ms;
    this.#fates = fates;
  }

  override async appendEvent(request: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
    const fate = this.#fates[++this.#appends];
    if (this.#ms > 0) await sleep(this.#ms);
    else for (let tick = 0; tick < 5; tick++) await Promise.resolve();
    if (fate === 'hang') await new Promise(() => {});
    if (fate === 'fail') throw new Error('the disk is full');
    return super.appendEvent(request);
  }
}

/** A store that never lets the first run take its session over. */
class StuckStore extends InMemorySessionService {
  #claims = 0;

  override async claimSession(key: Parameters<InMemorySessionService['claimSession']>[0]): Promise<number> {
    if (++this.#claims === 1) await new Promise(() => {});
    return super.claimSession(key);
  }
}

/** A store with ADK's five methods, each a tick late. */
class PlainStore extends BaseSessionService {
  readonly #inner = new InMemorySessionService();

  override async createSession(request: Parameters<BaseSessionService['createSession']>[0]): Promise<Session> {
    return this.#inner.createSession(request);
  }
  override async getSession(request: Parameters<BaseSessionService['getSession']>[0]): Promise<Session | undefined> {
    return this.#inner.getSession(request);
  }
  override async listSessions(request: Parameters<BaseSessionService['listSessions']>[0]): ReturnType<BaseSessionService['listSessions']> {
    return this.#inner.listSessions(request);
  }
  override async deleteSession(request: Parameters<BaseSessionService['deleteSession']>[0]): Promise<void> {
    return this.#inner.deleteSession(request);
  }
  override async appendEvent({session, event}: Parameters<BaseSessionService['appendEvent']>[0]): Promise<Event> {
    return this.#inner.appendEvent({session, event});
  }
}

class Around extends BaseAgent {
  readonly #inner: LlmAgent;

  constructor(inner: LlmAgent) {
    super({name: 'around', subAgents: [inner]});
    this.#inner = inner;
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'Let me ask.'}]}});
    await sleep(10, context.abortSignal);
    for await (const event of this.#inner.runAsync(context)) yield event;
    yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'That was it.'}]}});
  }
}

/** Says four things, whatever happens meanwhile. */
class Talker extends BaseAgent {
  readonly #ms: number;

  constructor(ms: number, more: Partial<BaseAgentConfig> = {}) {
    super({name: 'talker', ...more});
    this.#ms = ms;
  }

  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
    for (let count = 1; count <= 4; count++) {
      await (this.#ms > 0 ? sleep(this.#ms) : undefined);
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: `${count}`}]}});
    }
  }
}

class SlowToolset extends BaseToolset {
  override async getTools(): Promise<BaseTool[]> {
    await sleep(5);
    return [quick('listed')];
  }
  override async close(): Promise<void> {}
}

async function* drips(): AsyncGenerator<LlmResponse, void, undefined> {
  for (const [at, response] of deltas('Once ', 'upon ', 'a time').entries()) {
    await sleep(20);
    yield {...response, usageMetadata: {totalTokenCount: at + 1}};
  }
}

async function* lingers(ms: number): AsyncGenerator<LlmResponse, void, undefined> {
  try {
    for (const response of deltas('One ', 'two')) yield {...response, usageMetadata: {totalTokenCount: 3}};
  } finally {
    await (ms > 0 ? sleep(ms) : new Promise(() => {}));
  }
}

async function* breaks(): AsyncGenerator<LlmResponse, void, undefined> {
  for (const response of deltas('Al', 'most').slice(0, 2)) {
    yield response;
    await sleep(10);
  }
  throw new Error('connection lost');
}

const streamedCalls: LlmResponse[] = [
  {content: {role: 'model', parts: [{text: 'I look '}]}, partial: true},
  {content: {role: 'model', parts: [{functionCall: {name: 'quick'}}]}, partial: true},
  {content: {role: 'model', parts: [{text: 'I look '}, {functionCall: {name: 'quick'}}]}, finishReason: 'STOP'},
];

const steps: Execute = async function* (_, {abortSignal}) {
  yield {at: 1};
  await sleep(10, abortSignal);
  yield {at: 2};
  yield {at: 3};
  return {total: 3};
};

const cleansUp: Execute = async function* () {
  try {
    yield {at: 1};
    await sleep(50);
    yield {at: 2};
  } finally {
    await sleep(30);
  }
};

/** Every hook there is, each taking its time. */
function hooks(ms: number): Partial<LlmAgentConfig> {
  const hook = async (): Promise<undefined> => {
    await (ms > 0 ? sleep(ms) : undefined);
    return undefined;
  };
  return {
    beforeAgentCallback: hook,
    afterAgentCallback: hook,
    beforeModelCallback: [hook, hook],
    afterModelCallback: hook,
    beforeToolCallback: hook,
    afterToolCallback: hook,
  };
}

const throwsLate: NonNullable<LlmAgentConfig['afterToolCallback']> = async () => {
  await sleep(5);
  throw new Error('no');
};

/** An answer to a call that an earlier run left waiting. */
const answering: ScenarioFactory = async () => {
  const ask = new LongRunningFunctionTool({name: 'ask', description: '', execute: () => undefined});
  const agent = clerk([calls('ask'), deltas('So ', 'be it.')], [ask]);
  const runner = new Runner({appName: 'app', agent, sessionService: new InMemorySessionService(), autoCreateSession: true});
  const {events} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: message('May I?')}));
  const id = events[0]?.longRunningToolIds?.[0] ?? '';
  const newMessage = {role: 'user', parts: [{functionResponse: {id, name: 'ask', response: {approved: true}}}]};
  return {runner, request: {userId: 'u', sessionId: 's', newMessage}};
};

function delegating(): LlmAgent {
  const agent = clerk([after(10, calls('quick')), deltas('In', 'side')], [quick('quick')]);
  const inner = new Runner({appName: 'inner', agent, sessionService: new InMemorySessionService(), autoCreateSession: true});
  const delegate = tool('delegate', async (_, {abortSignal}) => {
    const run = inner.runAsync({userId: 'u', sessionId: 'inner', newMessage: message('Go'), abortSignal});
    const {events, error} = await collect(run);
    if (error !== undefined) throw error;
    return events.length;
  });
  return clerk([calls('delegate'), 'Done.'], [delegate]);
}

const done = 'Done.';
const oneTool =
  (more: Partial<LlmAgentConfig> = {}) =>
  (): LlmAgent =>
    clerk([calls('quick'), done], [quick('quick')], more);
const another = {userId: 'u', sessionId: 's', newMessage: message('Me too')};
const twoRuns = (): LlmAgent => clerk([calls('slow'), after(5, done), calls('slow'), after(5, done)], [slow('slow', 20)]);

/** What models do. */
export const modelScenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a streamed text': scenario({agent: () => clerk([deltas('Hel', 'lo')])}),
  'a text that drips': scenario({agent: () => clerk([() => drips()])}),
  'calls that are streamed': scenario({agent: () => clerk([streamedCalls, done], [quick('quick')])}),
  'a deaf model': scenario({agent: () => clerk([calls('quick'), deaf()], [quick('quick')])}),
  'a deaf model that answers late': scenario({agent: () => clerk([deaf(() => sleep(600).then(() => deltas('At ', 'last')))])}),
  'a model that is slow to clean up': scenario({agent: () => clerk([() => lingers(30)])}),
  'a model that never ends': scenario({agent: () => clerk([deaf(() => lingers(0))])}),
  'a model that fails mid stream': scenario({agent: () => clerk([() => breaks()])}),
  'a model in back-off': scenario({agent: () => clerk([after(500, after(1_000, deltas('At ', 'last')))])}),
  'a model that says nothing at first': scenario({agent: () => clerk([{finishReason: 'STOP'}, deltas(''), 'Now then.'])}),
  'a reply that is cut': scenario({agent: () => clerk([{...calls('quick'), finishReason: 'MAX_TOKENS'}], [quick('quick')])}),
  'a limit on model calls': scenario({
    agent: () => clerk([calls('quick'), calls('quick'), done], [quick('quick')], hooks(0)),
    runConfig: {maxLlmCalls: 2},
  }),
  'an answer to a call that waits': answering,
};

/** What tools do. */
export const toolScenarios: Readonly<Record<string, ScenarioFactory>> = {
  'three tools of mixed speed': scenario({
    agent: () => clerk([calls('at_once', 'soon', 'later'), done], [quick('at_once'), slow('soon', 20), slow('later', 50)]),
  }),
  'queued tools': scenario({
    agent: () => clerk([calls('a', 'b', 'c'), done], [slow('a', 10), quick('b'), slow('c', 10)]),
    runConfig: {maxConcurrentTools: 1},
  }),
  'an exclusive tool': scenario({
    agent: () => clerk([calls('a', 'alone', 'b'), done], [slow('a', 10), slow('alone', 10, {exclusive: true}), quick('b')]),
  }),
  'a tool that shows progress': scenario({agent: () => clerk([calls('steps', 'quick'), done], [tool('steps', steps), quick('quick')])}),
  'a tool that shows progress and is slow to clean up': scenario({agent: () => clerk([calls('steps'), done], [tool('steps', cleansUp)])}),
  'deaf tools': scenario({
    agent: () =>
      clerk(
        [calls('quick', 'in_time', 'too_late', 'never'), done],
        [quick('quick'), stubborn('in_time', 100), stubborn('too_late', 400), never('never')],
      ),
  }),
  'tools with deadlines': scenario({
    agent: () =>
      clerk(
        [calls('heeds', 'late', 'never'), done],
        [slow('heeds', 100, {timeoutMs: 40}), stubborn('late', 100, {timeoutMs: 40}), never('never', {timeoutMs: 40})],
      ),
  }),
  'a long-running tool': scenario({
    agent: () =>
      clerk(
        [calls('ask', 'slow'), done],
        [new LongRunningFunctionTool({name: 'ask', description: '', execute: () => undefined}), slow('slow', 20)],
      ),
  }),
  'tools that fail': scenario({
    agent: () =>
      clerk(
        [calls('throws', 'unknown', 'throws_late'), done],
        [
          tool('throws', () => Promise.reject(new Error('broken'))),
          tool('throws_late', async (_, {abortSignal}) => {
            await sleep(10, abortSignal);
            throw new Error('broken');
          }),
        ],
      ),
  }),
  'tools that write state': scenario({
    agent: () =>
      clerk(
        [calls('a', 'b'), done],
        [
          tool('a', (_, {state, abortSignal}) => sleep(10, abortSignal).then(() => state.set('a', 1))),
          tool('b', (_, {state}) => state.set('b', 1)),
        ],
        {outputKey: 'said'},
      ),
  }),
  'a tool that runs an agent': scenario({agent: delegating}),
};

/** What stores, hooks and agents do, and other runs. */
export const surroundings: Readonly<Record<string, ScenarioFactory>> = {
  'a store that takes ticks': scenario({agent: oneTool(), service: () => new SlowStore(0)}),
  'a store that takes time': scenario({agent: oneTool(), service: () => new SlowStore(30)}),
  'a store that hangs': scenario({agent: oneTool(), service: () => new SlowStore(0, {3: 'hang'})}),
  'a store that fails': scenario({agent: oneTool(), service: () => new SlowStore(5, {3: 'fail'})}),
  'a store that is stuck at the beginning': scenario({agent: oneTool(), service: () => new StuckStore()}),
  'a store of five methods': scenario({agent: oneTool(), service: () => new PlainStore()}),
  'a session that is made on the way': scenario({agent: oneTool(), hasSession: false}),
  hooks: scenario({agent: oneTool(hooks(0))}),
  'hooks that take time': scenario({agent: oneTool(hooks(5))}),
  'a hook that hangs at the end': scenario({agent: oneTool({afterAgentCallback: () => new Promise(() => {})})}),
  'a hook that hangs at the beginning': scenario({agent: oneTool({beforeModelCallback: () => new Promise(() => {})})}),
  'a hook with the last word': scenario({agent: oneTool({afterAgentCallback: () => ({parts: [{text: 'Bye.'}]})})}),
  'a hook that throws': scenario({
    agent: () => clerk([calls('quick', 'slow'), done], [quick('quick'), slow('slow', 20)], {afterToolCallback: throwsLate}),
  }),
  'a toolset and an instruction': scenario({
    agent: () =>
      new LlmAgent({
        name: 'clerk',
        model: new ScriptedLlm({steps: [calls('listed'), done]}),
        tools: [new SlowToolset()],
        instruction: () => sleep(5).then(() => 'Be brief.'),
      }),
  }),
  'an agent around an agent': scenario({
    agent: () =>
      new Around(
        new LlmAgent({name: 'inner', model: new ScriptedLlm({steps: [calls('slow'), deltas('All ', 'done')]}), tools: [slow('slow', 20)]}),
      ),
  }),
  'an agent that does not listen': scenario({agent: () => new Talker(0)}),
  'a slow agent that does not listen': scenario({agent: () => new Talker(100)}),
  'an agent that does not listen, and whose closing takes time': scenario({
    agent: () => new Talker(270, {afterAgentCallback: () => sleep(200).then(() => undefined)}),
  }),
  'a run behind another': scenario({agent: twoRuns, more: {earlier: [another]}}),
  'a run that waits in vain': scenario({agent: twoRuns, more: {earlier: [another]}, runConfig: {sessionWaitMs: 10}}),
  'a run before another': scenario({agent: twoRuns, more: {later: [another]}}),
};
