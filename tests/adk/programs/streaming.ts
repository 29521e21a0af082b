import {call, piece, says, whole, type Program} from '../stage.ts';

/** Text in pieces, then a call, then text in pieces again. */
export const program: Program = async ({FunctionTool, InMemoryRunner, LlmAgent, StreamingMode}, {model, note, read}) => {
  const getTime = new FunctionTool({name: 'get_time', description: 'Returns the time.', execute: () => ({time: '12:00'})});
  const rootAgent = new LlmAgent({
    name: 'clock',
    model: model('clock', [
      [piece('Let me '), piece('see.'), whole([{text: 'Let me see.'}, call('get_time')])],
      [piece('It is '), piece('noon.'), whole([{text: 'It is noon.'}])],
    ]),
    tools: [getTime],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'clock'});
  const session = await runner.sessionService.createSession({appName: 'clock', userId: 'ada'});
  const run = runner.runAsync({
    userId: 'ada',
    sessionId: session.id,
    newMessage: says('What time is it?'),
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  for await (const event of run) read(event);
  const stored = await runner.sessionService.getSession({appName: 'clock', userId: 'ada', sessionId: session.id});
  note(
    'stored',
    stored?.events.map(({author, content}) => ({author, content})),
  );
};
