import {BaseAgent, createEvent, FunctionTool, LlmAgent, LongRunningFunctionTool, type Event, type InvocationContext} from 'sluice';
import {deaf, deltas, ScriptedLlm, type ScenarioFactory, type ScriptedStep} from 'sluice/testing';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {after, calls, never, quick, scenario, sleep, slow, stubborn, tool} from '../../stories/explorer-scenarios.ts';

function agent(name: string, steps: readonly ScriptedStep[], tools: readonly FunctionTool[] = []): LlmAgent {
  return new LlmAgent({name, model: new ScriptedLlm({model: name, steps}), tools});
}

/** A tool that asks the agent above to act. */
const leave = (): FunctionTool =>
  new FunctionTool({
    name: 'leave',
    description: '',
    execute: (_, {actions}) => {
      actions.escalate = true;
      return {left: true};
    },
  });

const ask = (): FunctionTool => new LongRunningFunctionTool({name: 'ask', description: '', execute: () => {}});

/** An agent of the user's own: says something after each pause, and may not listen. */
class Speaker extends BaseAgent {
  readonly #isDeaf: boolean;

  constructor(name: string, isDeaf = false) {
    super({name});
    this.#isDeaf = isDeaf;
  }

  protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    for (const word of ['one', 'two']) {
      await sleep(10, this.#isDeaf ? undefined : context.abortSignal);
      yield createEvent({author: this.name, content: {role: 'model', parts: [{text: `${this.name} ${word}`}]}});
    }
  }
}

/** Runs its sub-agents as it likes: the first, and the second if the first has said something. */
class Chooser extends BaseAgent {
  protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const [first, second] = this.subAgents;
    let hasSpoken = false;
    context.abortSignal.throwIfAborted();
    for await (const event of first?.runAsync(context) ?? []) {
      hasSpoken ||= !event.partial;
      yield event;
    }
    context.abortSignal.throwIfAborted();
    if (second && hasSpoken) yield* second.runAsync(context);
  }
}

/** Fails after a while. */
class Failing extends BaseAgent {
  protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    await sleep(15, context.abortSignal);
    throw new TypeError('of its own');
  }
}

export const sequenceScenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a sequence of two': scenario({
    agent: () => new SequentialAgent({name: 'seq', subAgents: [agent('a', [deltas('A', '1')]), agent('b', ['B1'])]}),
  }),
  'a sequence with tools': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [agent('a', [calls('slow', 'quick'), 'A1'], [slow('slow', 20), quick('quick')]), agent('b', [after(10, 'B1')])],
      }),
  }),
  'a sequence with a deaf tool': scenario({
    agent: () => new SequentialAgent({name: 'seq', subAgents: [agent('a', [calls('never'), 'A1'], [never('never')]), agent('b', ['B1'])]}),
  }),
  'a sequence with a deaf model': scenario({
    agent: () => new SequentialAgent({name: 'seq', subAgents: [agent('a', ['A1']), agent('b', [deaf(after(30, 'B1'))])]}),
  }),
  'a sequence in a sequence, with callbacks': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        afterAgentCallback: () => ({role: 'model', parts: [{text: 'all done'}]}),
        subAgents: [
          new SequentialAgent({name: 'inner', subAgents: [agent('a', ['A1'])], afterAgentCallback: async () => sleep(5)}),
          new Speaker('b'),
        ],
      }),
  }),
  'a sequence that waits': scenario({
    agent: () => new SequentialAgent({name: 'seq', subAgents: [agent('a', [calls('ask')], [ask()]), agent('b', ['B1'])]}),
  }),
  'a custom agent that runs children': scenario({
    agent: () =>
      new Chooser({name: 'chooser', subAgents: [agent('a', [calls('slow'), deltas('A', '1')], [slow('slow', 20)]), new Speaker('b')]}),
  }),
};

export const loopScenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a loop of three iterations': scenario({
    agent: () => new LoopAgent({name: 'loop', maxIterations: 3, subAgents: [agent('a', ['A1', deltas('A', '2'), 'A3'])]}),
  }),
  'a loop that is left': scenario({
    agent: () =>
      new LoopAgent({
        name: 'loop',
        subAgents: [agent('a', ['A1', 'A2']), agent('b', ['B1', calls('leave', 'slow'), 'B2'], [leave(), slow('slow', 20)])],
      }),
  }),
  'a loop without words, to its deadline': scenario({
    agent: () => new LoopAgent({name: 'loop', maxIterations: 20, subAgents: [new Chooser({name: 'silent'})]}),
  }),
  'a loop of a sequence that waits': scenario({
    agent: () =>
      new LoopAgent({
        name: 'loop',
        subAgents: [new SequentialAgent({name: 'seq', subAgents: [agent('a', ['A1', 'A2']), agent('b', ['B1', calls('ask')], [ask()])]})],
      }),
  }),
};

const parallel = (...subAgents: BaseAgent[]): ParallelAgent => new ParallelAgent({name: 'par', subAgents});

export const parallelScenarios: Readonly<Record<string, ScenarioFactory>> = {
  'two branches that stream': scenario({agent: () => parallel(agent('a', [deltas('A', '1')]), agent('b', [deltas('B', '1')]))}),
  'two branches with tools': scenario({
    agent: () =>
      parallel(
        agent('a', [calls('slow', 'quick'), 'A1'], [slow('slow', 20), quick('quick')]),
        agent('b', [after(10, calls('quick')), deltas('B', '1')], [quick('quick')]),
      ),
  }),
  'branches with deaf tools': scenario({
    agent: () =>
      parallel(
        agent('a', [calls('never'), 'A1'], [never('never', {timeoutMs: 50})]),
        agent('b', [calls('stubborn'), 'B1'], [stubborn('stubborn', 30)]),
      ),
  }),
  'a branch with a deaf model': scenario({
    agent: () => parallel(agent('a', [deaf(after(400, 'A1'))]), agent('b', [deltas('B', '1')])),
  }),
  'a branch of an own agent that is deaf': scenario({agent: () => parallel(new Speaker('a', true), agent('b', ['B1']))}),
  'branches of own agents': scenario({agent: () => parallel(new Speaker('a'), new Chooser({name: 'c', subAgents: [new Speaker('b')]}))}),
  'more branches than may run at a time': scenario({
    agent: () =>
      new ParallelAgent({
        name: 'par',
        maxConcurrentAgents: 2,
        subAgents: ['a', 'b', 'c', 'd'].map((name) => agent(name, [after(5, deltas(name, '1'))])),
      }),
  }),
  'branches within branches, in a sequence': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          parallel(
            new ParallelAgent({
              name: 'inner',
              subAgents: [agent('a', [calls('slow'), 'A1'], [slow('slow', 10)]), agent('b', [deltas('B', '1')])],
            }),
            agent('c', [after(5, calls('quick')), 'C1'], [quick('quick')]),
          ),
          agent('d', ['D1']),
        ],
      }),
  }),
  'a branch that escalates': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [
          parallel(
            agent('a', [after(5, calls('leave')), after(5, 'A1')], [leave()]),
            agent('b', [calls('slow', 'stubborn'), 'B1'], [slow('slow', 50), stubborn('stubborn', 40)]),
            agent('c', [deltas('C', '1'), after(30, 'C2')]),
          ),
          agent('d', ['D1']),
        ],
      }),
  }),
  'a branch that fails': scenario({
    agent: () =>
      parallel(
        new Failing({name: 'a'}),
        agent('b', [calls('slow', 'quick'), 'B1'], [slow('slow', 50), quick('quick')]),
        agent('c', [deltas('C', '1')]),
      ),
  }),
  'a branch that waits': scenario({
    agent: () =>
      new SequentialAgent({
        name: 'seq',
        subAgents: [parallel(agent('a', [calls('ask')], [ask()]), agent('b', [after(20, 'B1')])), agent('c', ['C1'])],
      }),
  }),
  'branches with callbacks': scenario({
    agent: () =>
      parallel(
        new LlmAgent({
          name: 'a',
          model: new ScriptedLlm({model: 'a', steps: [after(10, 'A1')]}),
          beforeAgentCallback: async () => sleep(5),
          afterAgentCallback: async () => sleep(5).then(() => ({role: 'model', parts: [{text: 'after a'}]})),
        }),
        agent('b', [calls('slow'), 'B1'], [slow('slow', 20)]),
      ),
  }),
  'tools of branches that wait for each other’s places': scenario({
    agent: () =>
      parallel(
        agent('a', [calls('slow', 'tool'), 'A1'], [slow('slow', 20), tool('tool', () => 1)]),
        agent('b', [calls('slow'), 'B1'], [slow('slow', 20)]),
      ),
    runConfig: {maxConcurrentTools: 1},
  }),
};
