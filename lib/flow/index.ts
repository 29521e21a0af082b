/**
 * What only some runs need: callbacks around an agent or a model, state in an instruction, other agents to hand over to, an `outputSchema`, and
 * calls that wait for the user of the app; and what a runner does beside its runs. An entry of its own: who needs it loads it by itself.
 *
 * @module
 */
export {betweenCallbacks} from '../agents/agent-hook.ts';
export {ModelHooks} from '../agents/llm/model-hooks.ts';
export {ToolHooks} from '../agents/llm/tool-hooks.ts';
export {closeRunner} from '../runner/close-runner.ts';
export {rewind} from '../runner/rewind.ts';
export {agentToAnswer} from './agent-to-answer.ts';
export {askUser} from './ask-user.ts';
export {flowOf} from './flow.ts';
export {instruct} from './instruct.ts';
export {Transfer} from './transfer.ts';
export {requestEvent} from './user-requests.ts';
export {readRun} from './read-run.ts';
