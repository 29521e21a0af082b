import {
  BaseAgent,
  BaseToolset,
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  type BaseSessionService,
  type BaseTool,
  type Event,
  type InvocationContext,
  type LlmResponse,
  type RunConfig,
} from '../../lib/index.ts';
import {ScriptedLlm} from '../../lib/testing/scripted-llm.ts';
import {deaf, deltas, functionCalls, text, type ScriptedStep} from '../../lib/testing/scripted-steps.ts';
import type {Scenario, ScenarioFactory} from '../../lib/testing/schedule-explorer/scenario.ts';

const message = (words: string): Scenario['request']['newMessage'] => ({role: 'user', parts: [{text: words}]});

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

interface Parts {
  readonly agent: () => BaseAgent;
  readonly service?: () => BaseSessionService;
  readonly runConfig?: RunConfig;
  readonly more?: () => Partial<Scenario>;
  readonly create?: boolean;
}

function scenario({agent, service = () => new InMemorySessionService(), runConfig = {}, more = () => ({}), create = true}: Parts): ScenarioFactory {
  return async () => {
    const sessionService = service();
    const runner = new Runner({appName: 'app', agent: agent(), sessionService, autoCreateSession: !create, onDiagnostic: () => {}});
    if (create) await InMemorySessionService.prototype.createSession.call(sessionService, {appName: 'app', userId: 'u', sessionId: 's'});
    return {runner, request: {userId: 'u', sessionId: 's', newMessage: message('Hi'), runConfig}, ...more()};
  };
}

const model = (...steps: ScriptedStep[]): ScriptedLlm => new ScriptedLlm({steps});

type Execute = ConstructorParameters<typeof FunctionTool>[0]['execute'];
const tool = (name: string, execute: Execute, options: {timeoutMs?: number; exclusive?: boolean} = {}): FunctionTool =>
  new FunctionTool({name, description: '', execute, ...options});
const now = (name: string): FunctionTool => tool(name, () => ({name}));
const takes = (name: string, ms: number, options = {}): FunctionTool =>
  tool(name, async (_, {abortSignal}) => sleep(ms, abortSignal).then(() => ({name})), options);
const stubborn = (name: string, ms: number, options = {}): FunctionTool => tool(name, async () => sleep(ms).then(() => ({name})), options);
const never = (name: string, options = {}): FunctionTool => tool(name, () => new Promise(() => {}), options);

const call = (...names: string[]): LlmResponse => functionCalls(...names.map((name) => ({name})));

/** A store whose every method takes its time, and whose appends may be lost. */
class SlowStore extends InMemorySessionService {
  readonly #ms: number;
  readonly #fate: (nth: number) => 'store' | 'hang' | 'fail';
  #appends = 0;

  constructor(ms: number, fate: (nth: number) => 'store' | 'hang' | 'fail' = () => 'store') {
    super();
    this.#ms = ms;
    this.#fate = fate;
  }
  override async appendEvent(request: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
    const fate = this.#fate(++this.#appends);
    if (this.#ms > 0) await sleep(this.#ms);
    else for (let tick = 0; tick < 5; tick++) await undefined;
    if (fate === 'hang') return new Promise(() => {});
    if (fate === 'fail') throw new Error('the disk is full');
    return super.appendEvent(request);
  }
}

class Wrapper extends BaseAgent {
  readonly #inner: LlmAgent;
  constructor(inner: LlmAgent) {
    super({name: 'wrapper', subAgents: [inner]});
    this.#inner = inner;
  }
  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'Let me ask.'}]}});
    await sleep(10, context.abortSignal);
    for await (const event of this.#inner.runAsync(context)) yield event;
    yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'That was it.'}]}});
  }
}

/** Goes on whatever happens. */
class Stubborn extends BaseAgent {
  readonly #ms: number | undefined;
  constructor(ms?: number) {
    super({name: 'stubborn'});
    this.#ms = ms;
  }
  protected override async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
    for (let n = 1; n <= 4; n++) {
      if (this.#ms === undefined) await undefined;
      else await sleep(this.#ms);
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: `Event ${n}`}]}});
    }
  }
}

class SlowToolset extends BaseToolset {
  override async getTools(): Promise<BaseTool[]> {
    await sleep(5);
    return [now('listed')];
  }
  override async close(): Promise<void> {}
}

async function* fails(): AsyncGenerator<LlmResponse, void, undefined> {
  for (const response of deltas('Al', 'most').slice(0, 2)) {
    yield response;
    await sleep(10);
  }
  throw new Error('connection lost');
}

async function* drips(): AsyncGenerator<LlmResponse, void, undefined> {
  for (const response of deltas('Once ', 'upon ', 'a time')) {
    await sleep(20);
    yield response;
  }
}

async function* progress(_: unknown, {abortSignal}: {abortSignal: AbortSignal}): AsyncGenerator<unknown, unknown, undefined> {
  yield {at: 1};
  await sleep(10, abortSignal);
  yield {at: 2};
  return {total: 2};
}

const agentOf = (steps: ScriptedStep[], tools: FunctionTool[] = [], more = {}) => (): LlmAgent =>
  new LlmAgent({name: 'clerk', model: model(...steps), tools, ...more});

const delayed = (ms: number, step: ScriptedStep) => (_: unknown, {abortSignal}: {abortSignal?: AbortSignal | undefined}): Promise<ScriptedStep> =>
  sleep(ms, abortSignal).then(() => step);

const pauseHook = (ms: number) => async (): Promise<undefined> => {
  await (ms > 0 ? sleep(ms) : undefined);
  return undefined;
};
const hooks = (ms: number): object => ({
  beforeAgentCallback: pauseHook(ms),
  afterAgentCallback: pauseHook(ms),
  beforeModelCallback: [pauseHook(ms), pauseHook(ms)],
  afterModelCallback: pauseHook(ms),
  beforeToolCallback: pauseHook(ms),
  afterToolCallback: pauseHook(ms),
});

export const scenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a text': scenario({agent: agentOf([deltas('Hel', 'lo')])}),
  'a text that drips': scenario({agent: agentOf([() => drips()])}),
  'three tools of mixed speed': scenario({
    agent: () => agentOf([call('quick', 'slow', 'slower'), 'Done.'], [now('quick'), takes('slow', 20), takes('slower', 50)])(),
  }),
  'queued tools': scenario({
    agent: () => agentOf([call('a', 'b', 'c'), 'Done.'], [takes('a', 10), now('b'), takes('c', 10)])(),
    runConfig: {maxConcurrentTools: 1},
  }),
  'an exclusive tool': scenario({
    agent: () => agentOf([call('a', 'alone', 'b'), 'Done.'], [takes('a', 10), takes('alone', 10, {exclusive: true}), now('b')])(),
  }),
  'a tool with progress': scenario({agent: () => agentOf([call('steps', 'quick'), 'Done.'], [tool('steps', progress), now('quick')])()}),
  'deaf tools': scenario({
    agent: () => agentOf([call('quick', 'in_time', 'too_late', 'never'), 'Done.'], [now('quick'), stubborn('in_time', 100), stubborn('too_late', 400), never('never')])(),
  }),
  'a deaf model': scenario({agent: agentOf([call('quick'), deaf()], [now('quick')])}),
  'a deaf model that answers late': scenario({agent: agentOf([deaf(() => sleep(600).then(() => deltas('At ', 'last')))])}),
  'a store that takes ticks': scenario({agent: agentOf([call('quick'), 'Done.'], [now('quick')]), service: () => new SlowStore(0)}),
  'a slow store': scenario({agent: agentOf([call('quick'), 'Done.'], [now('quick')]), service: () => new SlowStore(30)}),
  'a store that hangs': scenario({agent: agentOf([call('quick'), 'Done.'], [now('quick')]), service: () => new SlowStore(0, (nth) => (nth === 3 ? 'hang' : 'store'))}),
  'a store that fails': scenario({agent: agentOf([call('quick'), 'Done.'], [now('quick')]), service: () => new SlowStore(5, (nth) => (nth === 3 ? 'fail' : 'store'))}),
  'hooks': scenario({agent: () => agentOf([call('quick'), 'Done.'], [now('quick')], hooks(0))()}),
  'slow hooks': scenario({agent: () => agentOf([call('quick'), 'Done.'], [now('quick')], hooks(5))()}),
  'a deaf hook at the end': scenario({agent: () => agentOf(['Done.'], [], {afterAgentCallback: () => new Promise(() => {})})()}),
  'a deaf hook at the beginning': scenario({agent: () => agentOf(['Done.'], [], {beforeModelCallback: () => new Promise(() => {})})()}),
  'a hook with the last word': scenario({agent: () => agentOf(['Done.'], [], {afterAgentCallback: () => ({parts: [{text: 'Bye.'}]})})()}),
  'a hook that throws': scenario({
    agent: () =>
      agentOf([call('quick', 'slow'), 'Done.'], [now('quick'), takes('slow', 20)], {
        afterToolCallback: async () => {
          await sleep(5);
          throw new Error('no');
        },
      })(),
  }),
  'tools with deadlines': scenario({
    agent: () =>
      agentOf([call('heeds', 'late', 'never'), 'Done.'], [takes('heeds', 100, {timeoutMs: 40}), stubborn('late', 100, {timeoutMs: 40}), never('never', {timeoutMs: 40})])(),
  }),
  'a long-running tool': scenario({
    agent: () =>
      agentOf([call('ask', 'slow'), 'Done.'], [new LongRunningFunctionTool({name: 'ask', description: '', execute: () => undefined}), takes('slow', 20)])(),
  }),
  'a model that fails mid stream': scenario({agent: agentOf([() => fails()])}),
  'a model in back-off': scenario({agent: agentOf([delayed(500, delayed(1_000, deltas('At ', 'last')))])}),
  'a model that says nothing': scenario({agent: agentOf([{finishReason: 'STOP'}, deltas('', '').slice(0, 3), 'Now then.'])}),
  'a reply that is cut': scenario({agent: agentOf([{...call('quick'), finishReason: 'MAX_TOKENS'}], [now('quick')])}),
  'a limit': scenario({agent: () => agentOf([call('quick'), call('quick'), 'Done.'], [now('quick')], hooks(0))(), runConfig: {maxLlmCalls: 2}}),
  'tools that fail': scenario({
    agent: () =>
      agentOf(
        [call('throws', 'unknown', 'slowly'), 'Done.'],
        [
          tool('throws', () => Promise.reject(new Error('broken'))),
          tool('slowly', async (_, {abortSignal}) => {
            await sleep(10, abortSignal);
            throw new Error('broken');
          }),
        ],
      )(),
  }),
  'tools that write state': scenario({
    agent: () =>
      agentOf(
        [call('a', 'b'), text('Done.')],
        [
          tool('a', async (_, {state, abortSignal}) => {
            state.set('a', 1);
            await sleep(10, abortSignal);
            state.set('a', 2);
          }),
          tool('b', (_, {state}) => state.set('b', 1)),
        ],
        {outputKey: 'said'},
      )(),
  }),
  'an agent around an agent': scenario({
    agent: () => new Wrapper(new LlmAgent({name: 'inner', model: model(call('slow'), deltas('All ', 'done')), tools: [takes('slow', 20)]})),
  }),
  'an agent that does not listen': scenario({agent: () => new Stubborn()}),
  'a slow agent that does not listen': scenario({agent: () => new Stubborn(100)}),
  'a run behind another': scenario({
    agent: () => agentOf([call('slow'), 'Done.', call('slow'), 'Done.'], [takes('slow', 20)])(),
    more: () => ({earlier: [{userId: 'u', sessionId: 's', newMessage: message('First')}]}),
  }),
  'a run before another': scenario({
    agent: () => agentOf([call('slow'), delayed(5, 'Done.'), delayed(5, 'Done.')], [takes('slow', 20)])(),
    more: () => ({later: [{userId: 'u', sessionId: 's', newMessage: message('Second')}]}),
  }),
  'a toolset and an instruction': scenario({
    agent: () => new LlmAgent({name: 'clerk', model: model(call('listed'), 'Done.'), tools: [new SlowToolset()], instruction: async () => sleep(5).then(() => 'Be brief.')}),
  }),
  'a session that is made on the way': scenario({agent: agentOf([deltas('Hel', 'lo')]), create: false}),
  'a tool that runs an agent': scenario({
    agent: () => {
      const inner = new Runner({
        appName: 'inner',
        agent: agentOf([delayed(10, call('quick')), deltas('In', 'ner')], [now('quick')])(),
        sessionService: new InMemorySessionService(),
      });
      const delegate = tool('delegate', async (_, {abortSignal}) => {
        let said = '';
        for await (const event of inner.runEphemeral({userId: 'u', newMessage: message('Go'), ...{abortSignal}} as never)) said += event.author;
        return said;
      });
      return agentOf([call('delegate'), 'Done.'], [delegate])();
    },
  }),
};
