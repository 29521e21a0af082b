/**
 * What only some runs need: callbacks around an agent, state in an instruction, other agents to hand over to, an `outputSchema`, and calls that
 * wait for the user of the app. An entry of its own: such runs load it by themselves.
 *
 * @module
 */
export {betweenCallbacks} from '../agents/agent-hook.ts';
export {agentToAnswer} from './agent-to-answer.ts';
export {askUser} from './ask-user.ts';
export {flowOf} from './flow.ts';
export {instruct} from './instruct.ts';
export {requestEvent} from './user-requests.ts';
export {readRun} from './read-run.ts';
