// Workflow agents on an engine that crashes after every step, and has only its records to go on from.
import {describe, expect, test} from 'vitest';
import {StreamingMode, type BaseAgent, type Event, type RunConfig} from 'sluice';
import {collect, deltas, functionCalls, ReplayEngine, text, type ScriptedStep} from 'sluice/testing';
import {createEventActions} from '../../../lib/events/event-actions.ts';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {idle} from '../../stories/kit.ts';
import {ask, expectPaired, leave, Own, speaker, stageOf, told, tool} from './kit.ts';

/** What user code really did, line by line. */
type Log = string[];

/** A model step that takes so many turns of the event loop. */
const after = (turns: number, step: ScriptedStep): ScriptedStep =>
  async function* (request, call) {
    for (let turn = 0; turn < turns; turn++) await idle();
    const given = typeof step === 'function' ? step(request, call) : step;
    yield* (Array.isArray(given) ? given : [typeof given === 'string' ? text(given) : given]) as never[];
  };

const noted = (log: Log, name: string, turns = 0) =>
  tool(name, async () => {
    log.push(`${name} runs`);
    for (let turn = 0; turn < turns; turn++) await idle();
    return {name};
  });

interface Story {
  readonly agent: (log: Log) => BaseAgent;
  readonly runConfig?: RunConfig;
}

/** Whose Events come in the same order in any case: those of one branch. */
function byBranch(events: readonly Event[]): Record<string, string[]> {
  const branches: Record<string, string[]> = {};
  for (const event of events) (branches[event.branch ?? ''] ??= []).push(told(event));
  return branches;
}

const stories: Readonly<Record<string, Story>> = {
  'a sequence': {
    agent: (log) =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          speaker('a', [functionCalls({name: 'look'}), 'A2'], [noted(log, 'look')], {outputKey: 'a'}),
          speaker('b', [deltas('B', '1')], [], {instruction: '{a}'}),
        ],
      }),
    runConfig: {streamingMode: StreamingMode.SSE},
  },
  'a loop that is left': {
    agent: (log) =>
      new LoopAgent({
        name: 'loop',
        subAgents: [
          speaker('a', [functionCalls({name: 'look'}), 'A1', 'A2', 'A3'], [noted(log, 'look')]),
          speaker('b', ['B1', 'B2', functionCalls({name: 'leave'})], [leave()]),
        ],
      }),
  },
  'a loop to its last iteration': {
    agent: () => new LoopAgent({name: 'loop', maxIterations: 4, subAgents: [speaker('a', ['A1', 'A2', 'A3', 'A4'])]}),
  },
  'branches of different speed, with tools': {
    agent: (log) =>
      new ParallelAgent({
        name: 'par',
        subAgents: [
          speaker(
            'a',
            [after(9, functionCalls({name: 'slow'}, {name: 'quick'})), after(1, 'A2')],
            [noted(log, 'slow', 12), noted(log, 'quick')],
          ),
          speaker(
            'b',
            [functionCalls({name: 'fast'}), after(2, functionCalls({name: 'fast'})), after(7, deltas('B', '3'))],
            [noted(log, 'fast', 2)],
          ),
          speaker('c', [after(4, 'C1')]),
        ],
      }),
    runConfig: {streamingMode: StreamingMode.SSE},
  },
  'branches within branches, and agents around them': {
    agent: (log) =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          speaker('first', ['First.']),
          new ParallelAgent({
            name: 'outer',
            subAgents: [
              new ParallelAgent({
                name: 'inner',
                subAgents: [speaker('a', [after(3, functionCalls({name: 'look'})), 'A2'], [noted(log, 'look', 3)]), speaker('b', ['B1'])],
              }),
              new LoopAgent({name: 'loop', maxIterations: 3, subAgents: [speaker('c', [after(2, 'C1'), 'C2', after(5, 'C3')])]}),
            ],
          }),
          speaker('last', ['Last.']),
        ],
      }),
  },
  'more branches than may run at a time': {
    agent: (log) =>
      new ParallelAgent({
        name: 'par',
        maxConcurrentAgents: 2,
        subAgents: [5, 1, 4, 2, 3].map((turns, at) =>
          speaker(`a${at}`, [after(turns, functionCalls({name: `t${at}`})), after(6 - turns, `A${at}`)], [noted(log, `t${at}`, turns)]),
        ),
      }),
  },
  'branches that wait': {
    agent: () =>
      new ParallelAgent({
        name: 'par',
        subAgents: ['a', 'b'].map((name, at) => speaker(name, [after(at * 4, functionCalls({name: 'ask', id: `of ${name}`}))], [ask()])),
      }),
  },
  'a branch that fails': {
    agent: (log) =>
      new ParallelAgent({
        name: 'par',
        subAgents: [
          speaker('a', [functionCalls({name: 'quick'}), after(2, new TypeError('of its own'))], [noted(log, 'quick')]),
          speaker('b', ['B1']),
        ],
      }),
  },
  'state written beside each other': {
    agent: () =>
      new ParallelAgent({
        name: 'par',
        subAgents: ['a', 'b'].map(
          (name) =>
            new Own(name, async function* (context) {
              yield this.says(name, {
                id: `${context.invocationId} ${name}`,
                timestamp: 0,
                actions: createEventActions({stateDelta: {key: name}}),
              });
            }),
        ),
      }),
  },
  'a branch that escalates, when the others have nothing under way': {
    agent: () =>
      new ParallelAgent({
        name: 'par',
        subAgents: [speaker('a', [after(6, functionCalls({name: 'leave'}))], [leave()]), speaker('b', ['B1'])],
      }),
  },
};

describe('whoever reads a run, looks into its session or is called by it does not notice crashes of', () => {
  for (const [name, {agent, runConfig = {}}] of Object.entries(stories)) {
    test(name, async () => {
      const tell = async (engine?: ReplayEngine): Promise<unknown> => {
        const log: Log = [];
        const it = await stageOf(agent(log), runConfig, engine && {stepEngine: engine});
        const {events, outcome, ...rest} = await collect(it.run());
        const stored = await it.stored();
        expectPaired(stored);
        // What is stored is what was read, in that order.
        const whole = events.filter(({partial}) => !partial);
        if (!('error' in rest)) expect(stored.slice(1).map(({id}) => id)).toEqual(whole.map(({id}) => id));
        return {
          events: byBranch(whole),
          error: 'error' in rest ? rest.error : undefined,
          kind: [outcome.kind, outcome.llmCalls, outcome.abandoned],
          log: log.toSorted(),
          state: Object.keys(await it.state()),
          diagnostics: it.diagnostics.map(({code}) => code),
        };
      };
      const plain = await tell();
      const engine = new ReplayEngine();

      expect(await tell(engine)).toEqual(plain);
      expect(engine.attempts).toBeGreaterThan(3);
    });
  }
});

test('an escalation comes at the same point again, whatever the branches beside it have under way', async () => {
  for (let turns = 0; turns < 30; turns++) {
    const busy = (name: string): Own =>
      new Own(name, async function* ({run}) {
        for (let word = 0; word < 8; word++) {
          const event = this.says(`${word}`, {id: await run.steps.uuid(), timestamp: await run.steps.now()});
          await run.steps.step(`${name} ${word}`, async () => idle());
          yield event;
        }
      });
    const engine = new ReplayEngine();
    const agents = [speaker('a', [after(turns, functionCalls({name: 'leave'}))], [leave()]), busy('b'), busy('c')];
    const it = await stageOf(
      new SequentialAgent({name: 'seq', subAgents: [new ParallelAgent({name: 'par', subAgents: agents}), speaker('d', ['D'])]}),
      {},
      {stepEngine: engine},
    );

    const {events, ...rest} = await collect(it.run());

    expect(rest).toMatchObject({outcome: {kind: 'done', abandoned: []}});
    expect((await it.stored()).slice(1).map(({id}) => id)).toEqual(events.map(({id}) => id));
    expect(events.map(told).at(-1)).toBe('d: "D"');
  }
});
