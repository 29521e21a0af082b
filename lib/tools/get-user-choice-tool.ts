import {LongRunningFunctionTool} from './long-running-function-tool.ts';

const CHOICE = {
  type: 'object',
  properties: {options: {type: 'array', items: {type: 'string'}, description: 'What the user may choose from.'}},
  required: ['options'],
} as const;

/**
 * Lets the model ask the user to choose: a call of `get_user_choice` has the `options`, and the run ends, waiting. The program shows them,
 * and starts a run whose `newMessage` answers the call with what was chosen. A call that waits is one that the Event of the responses names in
 * `longRunningToolIds`; one whose arguments were refused has an error there, and the model asks anew.
 *
 * @example
 * ```ts
 * import {getFunctionCalls, getFunctionResponses, getUserChoiceTool, InMemoryRunner, LlmAgent} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'waiter', model: 'gemini-2.5-flash', tools: [getUserChoiceTool]});
 * const runner = new InMemoryRunner({agent, autoCreateSession: true});
 * const user = {userId: 'u', sessionId: 's'};
 * const options = new Map<string, unknown>();
 * for await (const event of runner.runAsync({...user, newMessage: {role: 'user', parts: [{text: 'A drink, please'}]}})) {
 *   for (const {id = '', args} of getFunctionCalls(event)) options.set(id, args?.['options']);
 *   for (const {id = '', name = ''} of getFunctionResponses(event)) {
 *     if (!event.longRunningToolIds?.includes(id)) continue;
 *     console.log(options.get(id));
 *     const answer = {functionResponse: {id, name, response: {choice: 'tea'}}};
 *     // In a later request: runner.runAsync({...user, newMessage: {role: 'user', parts: [answer]}})
 *     console.log(answer);
 *   }
 * }
 * ```
 */
export const getUserChoiceTool: LongRunningFunctionTool<typeof CHOICE> = /* @__PURE__ */ new LongRunningFunctionTool({
  name: 'get_user_choice',
  description: 'Shows the user a list of options and waits for a choice.',
  parameters: CHOICE,
  execute: (_args, {actions}) => {
    actions.skipSummarization = true;
    return null;
  },
});
