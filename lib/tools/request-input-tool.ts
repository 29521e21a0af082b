import {REQUEST_INPUT} from '../context/requests.ts';
import {LongRunningFunctionTool} from './long-running-function-tool.ts';

const QUESTION = {
  type: 'object',
  properties: {
    message: {type: 'string', description: 'What the user is asked.'},
    response_schema: {type: 'object', description: 'The JSON Schema of the answer, where words alone would not do.'},
  },
  required: ['message'],
} as const;

/**
 * Lets the model ask the user of the app: a call of `adk_request_input` has the `message` and, where the answer is to have a form, its
 * `response_schema`, and the run ends, waiting. The program asks, and starts a run whose `newMessage` answers the call. An answer that does
 * not fit the types, enums and required properties of the schema is refused with an {@link InvalidOptionError} before anything is stored, so
 * that the program can ask once more. A schema that is none asks for nothing.
 *
 * @example
 * ```ts
 * import {getPendingUserInputRequests, InMemoryRunner, LlmAgent, requestInputTool} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'travel_agent', model: 'gemini-2.5-flash', tools: [requestInputTool]});
 * const runner = new InMemoryRunner({agent, appName: 'travel', autoCreateSession: true});
 * const user = {userId: 'u', sessionId: 's'};
 * for await (const event of runner.runAsync({...user, newMessage: {role: 'user', parts: [{text: 'Book me a room'}]}})) console.log(event.author);
 * const session = await runner.sessionService.getSession({...user, appName: 'travel'});
 * for (const {interruptId: id, functionCallName: name, message} of getPendingUserInputRequests(session?.events ?? [])) {
 *   console.log(message);
 *   const answer = {functionResponse: {id, name, response: {result: 'two nights'}}};
 *   // In a later request: runner.runAsync({...user, newMessage: {role: 'user', parts: [answer]}})
 *   console.log(answer);
 * }
 * ```
 */
export const requestInputTool: LongRunningFunctionTool<typeof QUESTION> = /* @__PURE__ */ new LongRunningFunctionTool({
  name: REQUEST_INPUT,
  description: 'Asks the user for what only the user can tell, and waits for the answer.',
  parameters: QUESTION,
  execute: (_args, {actions}) => {
    actions.skipSummarization = true;
    return null;
  },
});
