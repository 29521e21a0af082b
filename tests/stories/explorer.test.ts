import {describe, expect, test} from 'vitest';
import {
  BaseAgent,
  createEvent,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type Event,
  type InvocationContext,
  type Run,
  type RunRequest,
} from 'sluice';
import {deltas, ScheduleError, ScheduleExplorer, ScriptedLlm, type Scenario, type ScenarioFactory, type Schedule} from 'sluice/testing';
import {calls, clerk, message, quick, scenario, sleep, slow} from './explorer-scenarios.ts';

const text = scenario({agent: () => clerk([deltas('Hel', 'lo')])});
const tools = (): LlmAgent => clerk([calls('quick', 'slow'), 'Done.'], [quick('quick'), slow('slow', 20)]);
const plain: Schedule = {toolExecutionMode: 'parallel', streamingMode: 'none', stops: []};

/** The fault that an explorer finds, which it must find again in a replay. */
async function faultOf(
  scenario: ScenarioFactory,
  options: Partial<ConstructorParameters<typeof ScheduleExplorer>[0]> = {},
): Promise<ScheduleError> {
  const explorer = new ScheduleExplorer({scenario, maxSchedules: 400, randomSchedules: 0, ...options});
  const error: unknown = await explorer.explore().catch((thrown: unknown) => thrown);
  if (!(error instanceof ScheduleError)) throw new Error('no fault was found', {cause: error});
  const again: unknown = await new ScheduleExplorer({scenario}).replay(error.schedule).catch((thrown: unknown) => thrown);
  expect(again).toMatchObject({code: 'SCHEDULE_VIOLATION', clause: error.clause, schedule: error.schedule});
  return error;
}

describe('ScheduleExplorer', () => {
  test('says how many schedules it has played, by kind of stop', async () => {
    const explorer = new ScheduleExplorer({
      scenario: text,
      kinds: ['return', 'abort'],
      modes: [plain],
      maxSchedules: 10_000,
      randomSchedules: 0,
    });

    const {schedules, possible, byKind} = await explorer.explore();

    const {none = 0, deadline = 0, return: returns = 0, abort = 0} = byKind;
    expect(Object.keys(byKind).toSorted()).toEqual(['abort', 'deadline', 'none', 'return']);
    expect(returns).toBe(abort);
    expect(returns).toBeGreaterThan(50);
    expect(returns + abort + deadline).toBe(possible);
    expect(schedules).toBe(possible + none);
  });

  test('plays the same schedules the same way each time', async () => {
    const explorer = new ScheduleExplorer({scenario: scenario({agent: tools})});
    const schedule: Schedule = {...plain, stops: [{kind: 'return', after: 'timer 1', jobs: 7}]};

    const landmarks = await explorer.replay(schedule);

    expect(landmarks).toContain('STOP return');
    expect(await explorer.replay(schedule)).toEqual(landmarks);
  });

  test('stops a run between any two promise jobs, and inside of any call', async () => {
    const explorer = new ScheduleExplorer({scenario: scenario({agent: tools})});
    const seen = async (after: string, jobs: number): Promise<number> => {
      const landmarks = await explorer.replay({...plain, stops: [{kind: 'abort', after, jobs}]});
      return landmarks.slice(0, landmarks.indexOf('STOP abort')).length;
    };

    expect(await explorer.replay({...plain, stops: [{kind: 'abort', after: 'tool slow starts #1', jobs: 0}]})).toEqual(
      expect.arrayContaining(['tool slow starts #1', 'STOP abort']),
    );
    const places = new Set<number>();
    for (let jobs = 0; jobs < 80; jobs++) places.add(await seen('start', jobs));
    expect(places.size).toBeGreaterThan(10);
  });

  test('makes a landmark where a scenario says so', async () => {
    const factory: ScenarioFactory = async ({landmark}) => {
      const base = await text({landmark});
      const model = new ScriptedLlm({
        steps: [
          () => {
            landmark('thinking');
            return 'Hello';
          },
        ],
      });
      const runner = new Runner({appName: 'app', agent: new LlmAgent({name: 'clerk', model}), sessionService: base.runner.sessionService});
      return {...base, runner};
    };

    const landmarks = await new ScheduleExplorer({scenario: factory}).replay({
      ...plain,
      stops: [{kind: 'throw', after: 'thinking #1', jobs: 0}],
    });

    expect(landmarks.slice(landmarks.indexOf('thinking #1')).slice(0, 2)).toEqual(['thinking #1', 'STOP throw']);
  });

  test('leaves the clock, the timers and the listeners of the process as they were', async () => {
    const before = [globalThis.setTimeout, globalThis.clearTimeout, Date.now, process.listenerCount('unhandledRejection')];

    await new ScheduleExplorer({scenario: text, maxSchedules: 20, randomSchedules: 5}).explore();

    expect([globalThis.setTimeout, globalThis.clearTimeout, Date.now, process.listenerCount('unhandledRejection')]).toEqual(before);
  });

  test('refuses a scenario that uses a runner twice', async () => {
    const once = await text({landmark: () => {}});

    await expect(new ScheduleExplorer({scenario: () => once}).explore()).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      option: 'scenario',
    });
  });

  test.each([
    ['scenario', {scenario: 1}],
    ['kinds', {scenario: text, kinds: ['explode']}],
    ['maxSchedules', {scenario: text, maxSchedules: -1}],
    ['seed', {scenario: text, seed: 0.5}],
  ])('refuses a bad `%s`', (option, options) => {
    expect(() => new ScheduleExplorer(options as never)).toThrow(expect.objectContaining({code: 'INVALID_OPTION', option}));
  });
});

/** A run that is handed on by somebody who changes something. */
class ChangedRunner extends Runner {
  readonly #change: (run: Run, request: RunRequest) => Run;

  constructor(agent: BaseAgent, change: (run: Run, request: RunRequest) => Run, service = new InMemorySessionService()) {
    super({appName: 'app', agent, sessionService: service, onDiagnostic: () => {}, autoCreateSession: true});
    this.#change = change;
  }

  override runAsync(request: RunRequest): Run {
    return this.#change(super.runAsync(request), request);
  }
}

function changed(change: (run: Run, request: RunRequest) => Run, agent: () => BaseAgent = tools): ScenarioFactory {
  return () => ({runner: new ChangedRunner(agent(), change), request: {userId: 'u', sessionId: 's', newMessage: message('Hi')}});
}

/** The same run with some of its methods replaced. */
function withMethods(run: Run, methods: Partial<Record<'next' | 'return' | 'throw', () => Promise<IteratorResult<Event, void>>>>): Run {
  return new Proxy(run, {
    get: (target, key) => {
      const value: unknown = Reflect.get(methods, key) ?? Reflect.get(target, key);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });
}

describe('ScheduleExplorer finds', () => {
  test('a store that drops the responses of a batch', async () => {
    class Forgetful extends InMemorySessionService {
      override async appendEvent(request: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
        const isAnswer = request.event.content?.parts?.some(
          (part) => part.functionResponse?.response?.['error'] === 'cancelled; it may have taken effect',
        );
        return isAnswer ? request.event : super.appendEvent(request);
      }
    }

    const {clause, schedule, message} = await faultOf(scenario({agent: tools, service: () => new Forgetful()}));

    expect(clause).toBe('session');
    expect(schedule.stops).toHaveLength(1);
    expect(message).toContain('the calls of Event 1 have no responses');
    expect(message).toContain(`replay: explorer.replay(${JSON.stringify(schedule)})`);
  });

  test('a store that writes an Event twice, the second time late', async () => {
    class Repeating extends InMemorySessionService {
      override async appendEvent({session, event}: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
        if (event.content?.parts?.[0]?.functionResponse) {
          setTimeout(() => void super.appendEvent({session: structuredClone(session), event: {...event, id: crypto.randomUUID()}}), 5_000);
        }
        return super.appendEvent({session, event});
      }
    }

    expect(await faultOf(scenario({agent: tools, service: () => new Repeating()}))).toMatchObject({clause: 'late', schedule: {stops: []}});
  });

  test('a runner that does not hand the signal on', async () => {
    const deaf: ScenarioFactory = () => {
      class Deaf extends Runner {
        override runAsync({abortSignal: _lost, ...request}: RunRequest): Run {
          return super.runAsync(request);
        }
      }
      const runner = new Deaf({appName: 'app', agent: tools(), sessionService: new InMemorySessionService(), autoCreateSession: true});
      return {runner, request: {userId: 'u', sessionId: 's', newMessage: message('Hi')}};
    };

    const {clause, schedule} = await faultOf(deaf);

    expect(clause).toBe('end');
    expect(schedule.stops).toEqual([{kind: 'abort', after: 'created', jobs: 0}]);
  });

  test('a run whose `return()` queues behind its `next()`, as that of a bare generator does', async () => {
    const bare = changed((run) => {
      async function* events(): AsyncGenerator<Event, void, undefined> {
        yield* run;
      }
      const generator = events();
      return withMethods(run, {next: () => generator.next(), return: () => generator.return()});
    });

    expect(await faultOf(bare, {kinds: ['return']})).toMatchObject({clause: 'hangs', schedule: {stops: [{kind: 'return'}]}});
  });

  test('a listener that is left on the signal', async () => {
    const leaky = changed((run, {abortSignal}) => {
      abortSignal?.addEventListener('abort', () => {});
      return run;
    });

    expect(await faultOf(leaky)).toMatchObject({clause: 'left', schedule: {stops: []}});
  });

  test('a timer that is left', async () => {
    const ticking = changed((run) => {
      setTimeout(() => {}, 60_000);
      return run;
    });

    expect(await faultOf(ticking)).toMatchObject({clause: 'left', schedule: {stops: []}});
  });

  test('an Event that is made up after the stop', async () => {
    const talkative = changed((run) => {
      let left = 0;
      return withMethods(run, {
        return: () => {
          left = 1;
          return run.return();
        },
        next: async () => (left-- > 0 ? {done: false, value: createEvent({author: 'clerk'})} : run.next()),
      });
    });

    expect(await faultOf(talkative, {kinds: ['return']})).toMatchObject({clause: 'late', schedule: {stops: [{kind: 'return'}]}});
  });

  test('a run that yields without end', async () => {
    const endless = changed((run) => withMethods(run, {next: async () => ({done: false, value: createEvent({partial: true})})}));

    expect(await faultOf(endless)).toMatchObject({clause: 'hangs', schedule: {stops: []}});
  });

  test('an agent that asks a model after the stop', async () => {
    class Insisting extends BaseAgent {
      readonly #model = new ScriptedLlm({steps: [() => sleep(20).then(() => 'First'), 'Second']});
      readonly #inner = new LlmAgent({name: 'inner', model: this.#model});

      constructor() {
        super({name: 'insisting'});
      }

      get inner(): LlmAgent {
        return this.#inner;
      }

      protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
        try {
          yield* this.#inner.runAsync(context);
        } catch {
          for await (const _ of this.#model.generateContentAsync({contents: [], config: {}})) break;
        }
      }
    }
    const insisting: ScenarioFactory = (): Scenario => {
      const agent = new Insisting();
      const runner = new Runner({
        appName: 'app',
        agent,
        sessionService: new InMemorySessionService(),
        autoCreateSession: true,
        onDiagnostic: () => {},
      });
      return {runner, request: {userId: 'u', sessionId: 's', newMessage: message('Hi')}, agents: [agent.inner]};
    };

    const fault = await faultOf(insisting);

    expect(fault.clause).toBe('stop');
    expect(fault.message).toContain('model scripted started after the stop');
  });

  test('by drawing, a fault that takes two stops, and names the two', async () => {
    const touchy = changed((run, {abortSignal}) =>
      withMethods(run, {
        return: async () => {
          const wasAborted = abortSignal?.aborted;
          const result = await run.return();
          if (wasAborted) throw new Error('touchy');
          return result;
        },
      }),
    );

    const fault = await faultOf(touchy, {maxSchedules: 0, randomSchedules: 400, seed: 7});

    expect(fault.clause).toBe('end');
    expect(fault.schedule.stops).toHaveLength(2);
    expect(fault.message).toContain('`return` came to a throw of Error("touchy")');
  });
});
