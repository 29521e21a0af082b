import type {Event} from '../../events/event.ts';
import {anyOf, isOneOf, isWholeNumber, optional} from '../../schema/options.ts';
import {isRecord} from '../../schema/is-record.ts';
import type {BaseAgentConfig, InvocationContext} from '../base-agent.ts';
import {childToward, earliest, resumed, type Answered} from './resumption.ts';
import {runChild} from './run-child.ts';
import {WorkflowAgent} from './workflow-agent.ts';

/** What a `LoopAgent` is made of. */
export interface LoopAgentConfig extends BaseAgentConfig {
  /** How often the sub-agents are run at most, from 1. Default: no limit but those of the run (`maxLlmCalls`, `timeoutMs`). */
  readonly maxIterations?: number | undefined;
}

/** Where in `customMetadata` an Event that waits says in which iteration of which loop it does, and which loops end with that. */
const ITERATIONS = 'loopIterations';
const ESCALATED = 'loopsEscalated';

/** Where a loop stands. */
interface Place {
  readonly iteration: number;
  /** Whether an agent has escalated in it: no other follows. */
  readonly escalated: boolean;
}

/**
 * Runs its sub-agents one after the other, again and again, until one of them escalates (`actions.escalate`) or `maxIterations` are over.
 *
 * An agent that escalates finishes its turn; those after it are not run. An escalation ends the nearest loop above the agent, and no other.
 * Besides, a loop ends early where a `SequentialAgent` does. A run that brings an answer goes on in the iteration in which an agent asked;
 * iterations are counted over all runs of one round.
 *
 * @example
 * ```ts
 * import {FunctionTool, LlmAgent, LoopAgent} from 'sluice';
 *
 * const approve = new FunctionTool({
 *   name: 'approve',
 *   description: 'Call it when the draft is good.',
 *   execute: (_, {actions}) => {
 *     actions.escalate = true;
 *     actions.skipSummarization = true;
 *     return {approved: true};
 *   },
 * });
 * const writer = new LlmAgent({name: 'writer', model: 'gemini-2.5-flash', instruction: 'Write a draft, or a better one.'});
 * const critic = new LlmAgent({name: 'critic', model: 'gemini-2.5-flash', instruction: 'Criticise the draft.', tools: [approve]});
 * const review = new LoopAgent({name: 'review', subAgents: [writer, critic], maxIterations: 5});
 * ```
 */
export class LoopAgent extends WorkflowAgent {
  readonly maxIterations: number;
  protected override readonly takesEscalation: boolean = true;

  /** @throws {@link InvalidOptionError} where an option cannot be used */
  constructor(config: LoopAgentConfig) {
    super(config, {maxIterations: optional(anyOf(isWholeNumber({min: 1}), isOneOf([Infinity])))});
    this.maxIterations = config.maxIterations ?? Infinity;
  }

  protected override async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, undefined> {
    if (this.subAgents.length === 0) return;
    const answered = earliest(this, ctx);
    const start = answered ? this.#placeOf(answered, ctx) : {iteration: 1, escalated: false};
    // Once for all iterations: a run remembers every place that it has made.
    const children = this.subAgents.map((child) => ctx.forAgent(child));
    for (let place = start; ; place = {iteration: place.iteration + 1, escalated: false}) {
      const goesOn = yield* this.#iterate(ctx, children, {place, from: place === start ? answered : undefined});
      if (!goesOn || place.iteration >= this.maxIterations) return;
      await giveWay(ctx);
    }
  }

  /** One round of the sub-agents; returns whether another may follow. */
  async *#iterate(
    ctx: InvocationContext,
    children: readonly InvocationContext[],
    {place: {iteration, escalated: hasEscalated}, from}: {place: Place; from: Answered | undefined},
  ): AsyncGenerator<Event, boolean, undefined> {
    let escalated = hasEscalated;
    const pass = (event: Event): Event => {
      escalated ||= this.escalates(event);
      return this.#marked(event, {iteration, escalated});
    };
    const first = from ? childToward(this, from.author) : 0;
    for (const [index, child] of children.entries()) {
      if (index < first) continue;
      const next = from && index === first ? ctx.forAgent(resumed(child.agent, from.author)) : child;
      if (!(yield* runChild(ctx, next, pass)) || escalated) return false;
    }
    return true;
  }

  /** What waits says where it does: the run that answers has nothing else to know it from. */
  #marked(event: Event, {iteration, escalated}: Place): Event {
    if (!event.longRunningToolIds?.length) return event;
    const told = (key: string, value: unknown): Record<string, unknown> => ({[key]: {...recordIn(event, key), [this.name]: value}});
    const customMetadata = {...event.customMetadata, ...told(ITERATIONS, iteration), ...(escalated && told(ESCALATED, true))};
    return {...event, customMetadata};
  }

  #placeOf({id}: Answered, {run}: InvocationContext): Place {
    const {events} = run.session;
    const isMarked = (event: Event): boolean => this.name in recordIn(event, ITERATIONS);
    const asked = events.findLast((event) => event.longRunningToolIds?.includes(id) && isMarked(event));
    // The last word of that run: an agent may have escalated after the question.
    const last = asked && events.findLast((event) => event.invocationId === asked.invocationId && isMarked(event));
    const iteration = last && recordIn(last, ITERATIONS)[this.name];
    if (!last || typeof iteration !== 'number') return {iteration: 1, escalated: false};
    return {iteration, escalated: recordIn(last, ESCALATED)[this.name] === true};
  }
}

function recordIn({customMetadata}: Event, key: string): Record<string, unknown> {
  const record = customMetadata?.[key];
  return isRecord(record) ? record : {};
}

/** Lets timers and sockets have their turn: without it a loop of agents that wait for nothing would hear no stop. */
function giveWay({run}: InvocationContext): Promise<void> {
  return new Promise((resolve) => {
    const turn = run.life.child();
    const cancel = run.timers.set(0, () => {
      turn.close();
      resolve();
    });
    turn.onEnd(() => {
      cancel();
      resolve();
    });
  });
}
