import type {Event} from '../../events/event.ts';
import type {InvocationContext} from '../base-agent.ts';
import {childToward, earliest, resumed} from './resumption.ts';
import {runChild} from './run-child.ts';
import {WorkflowAgent} from './workflow-agent.ts';

/**
 * Runs its sub-agents one after the other, each over what those before it have said and written to state.
 *
 * The sequence ends early where an agent
 * - waits for an answer: the run ends `waiting`. The run that brings the answer goes on with the agent that asked, and then with those after
 *   it; those before it are not run again.
 * - ends with a reply that cannot be used (`errorCode`): what comes next would build on what is not there.
 * - throws: that is the run's error.
 *
 * `escalate` means nothing to a sequence: it goes on, and the agent above it is told by the same Event. A stop is as for any agent: the one
 * that runs is stopped, and none of those after it starts.
 *
 * @example
 * ```ts
 * import {LlmAgent, SequentialAgent} from 'sluice';
 *
 * const writer = new LlmAgent({name: 'writer', model: 'gemini-2.5-flash', instruction: 'Write a draft.', outputKey: 'draft'});
 * const editor = new LlmAgent({name: 'editor', model: 'gemini-2.5-flash', instruction: 'Shorten the draft: {draft}'});
 * const desk = new SequentialAgent({name: 'desk', subAgents: [writer, editor]});
 * ```
 */
export class SequentialAgent extends WorkflowAgent {
  protected override async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const answered = earliest(this, ctx);
    const first = answered ? childToward(this, answered.author) : 0;
    for (const [index, child] of this.subAgents.entries()) {
      if (index < first) continue;
      const agent = answered && index === first ? resumed(child, answered.author) : child;
      if (!(yield* runChild(ctx, ctx.forAgent(agent)))) return;
    }
  }
}
