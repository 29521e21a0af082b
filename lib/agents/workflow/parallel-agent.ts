import type {Event} from '../../events/event.ts';
import {anyOf, isOneOf, isWholeNumber, optional} from '../../schema/options.ts';
import type {BaseAgentConfig, InvocationContext} from '../base-agent.ts';
import {Branches} from './branches.ts';
import {answeredBelow, childToward, resumed, waitingBelow} from './resumption.ts';
import {Standing} from './standing.ts';
import {WorkflowAgent} from './workflow-agent.ts';

/** What a `ParallelAgent` is made of. */
export interface ParallelAgentConfig extends BaseAgentConfig {
  /** How many sub-agents run at a time; the others wait for their turn, in order. Default: all of them. */
  readonly maxConcurrentAgents?: number | undefined;
}

/**
 * Runs its sub-agents at the same time, each in a branch of its own: none sees what the others say meanwhile, and whoever comes after them
 * sees it all.
 *
 * Their Events come in the order in which they are made. An agent goes on only when its Event was stored and the reader asks for more, so
 * none is ahead of the reader by more than one Event. `maxConcurrentTools` and `maxLlmCalls` hold for all of them together.
 *
 * - An agent that throws stops the others; its error, the first, is the run's. What they had done is stored.
 * - An agent that escalates (`actions.escalate`, and no loop below has taken it) finishes its turn, and the others are stopped; their calls
 *   are answered as cancelled, and the run goes on.
 * - Where an agent waits for an answer the others finish, and the run ends `waiting`; its last Event names every call that waits. The run
 *   that brings an answer goes on with the agents that are answered, alone.
 * - Two agents that write different values to one state key: what is stored later wins, and a `STATE_CONFLICT` diagnostic names both.
 *
 * A stop stops all of them. Events that they had made and nobody had read yet are stored.
 *
 * @example
 * ```ts
 * import {LlmAgent, ParallelAgent} from 'sluice';
 *
 * const news = new LlmAgent({name: 'news', model: 'gemini-2.5-flash', instruction: 'What is new?', outputKey: 'news'});
 * const weather = new LlmAgent({name: 'weather', model: 'gemini-2.5-flash', instruction: 'Will it rain?', outputKey: 'weather'});
 * const briefing = new ParallelAgent({name: 'briefing', subAgents: [news, weather]});
 * ```
 */
export class ParallelAgent extends WorkflowAgent {
  readonly maxConcurrentAgents: number;

  /** @throws {@link InvalidOptionError} where an option cannot be used */
  constructor(config: ParallelAgentConfig) {
    super(config, {maxConcurrentAgents: optional(anyOf(isWholeNumber({min: 1}), isOneOf([Infinity])))});
    this.maxConcurrentAgents = config.maxConcurrentAgents ?? Infinity;
  }

  protected override async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const answered = answeredBelow(this, ctx);
    const standing = new Standing(ctx);
    if (answered.length > 0) standing.wait(waitingBelow(this, ctx, answered));
    const places = this.subAgents.flatMap((child, index) => {
      const toGoOn = answered.find(({author}) => childToward(this, author) === index);
      if (answered.length > 0 && !toGoOn) return [];
      return {name: child.name, agent: toGoOn ? resumed(child, toGoOn.author) : child};
    });
    const escalates = (event: Event): boolean => this.escalates(event);
    yield* new Branches({ctx, places, maxConcurrent: this.maxConcurrentAgents, escalates}, standing).run();
  }
}
