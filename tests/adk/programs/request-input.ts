import {call, says, type Program} from '../stage.ts';

/** The model asks the user for data, and another run brings it. */
export const program: Program = async (
  {InMemoryRunner, LlmAgent, getPendingUserInputRequests, requestInputTool, requiresUserInput},
  {model, note, read},
) => {
  const schema = {type: 'object', properties: {nights: {type: 'integer'}}, required: ['nights']};
  const question = call('adk_request_input', {message: 'For how many nights?', response_schema: schema});
  const rootAgent = new LlmAgent({
    name: 'hotel',
    model: model('hotel', [[question], 'Booked for two nights.']),
    instruction: 'Book rooms.',
    tools: [requestInputTool],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'hotel'});
  const user = {userId: 'ada', sessionId: 's'};
  const key = {appName: 'hotel', ...user};
  await runner.sessionService.createSession(key);
  const asks: boolean[] = [];
  for await (const event of runner.runAsync({...user, newMessage: says('A room, please.')})) {
    read(event);
    asks.push(requiresUserInput(event));
  }
  note('asks', asks[0]);
  const session = await runner.sessionService.getSession(key);
  const [request] = getPendingUserInputRequests(session?.events ?? []);
  note('request', {kind: request?.kind, author: request?.author, message: request?.message, responseSchema: request?.responseSchema});
  if (!request) return;
  const functionResponse = {id: request.interruptId, name: request.functionCallName, response: {nights: 2}};
  const newMessage = {role: 'user', parts: [{functionResponse}]};
  for await (const event of runner.runAsync({...user, newMessage})) read(event);
  note('left', getPendingUserInputRequests((await runner.sessionService.getSession(key))?.events ?? []).length);
};
