/**
 * What an `LlmAgent` needs to work with other agents, and to answer in the form of an `outputSchema`. An entry of its own: the runs of such
 * agents load it by themselves.
 *
 * @module
 */
export {askUser} from './ask-user.ts';
export {flowOf} from './flow.ts';
export {agentToAnswer} from './agent-to-answer.ts';
export {requestEvent} from './user-requests.ts';
