import {says, type Program} from '../stage.ts';

/** State from the session, the request and `outputKey`, filled into instructions. */
export const program: Program = async ({InMemorySessionService, LlmAgent, Runner, State}, {model, note, read}) => {
  const writer = new LlmAgent({
    name: 'writer',
    model: model('writer', ['A poem on rain.', 'A poem on snow.', 'A poem on sun.']),
    instruction: 'Write about {topic} in the style of {user:style}. Tone: {temp:tone?}. Before: {poem?}',
    outputKey: 'poem',
  });
  const sessionService = new InMemorySessionService();
  const runner = new Runner({appName: 'poems', agent: writer, sessionService});
  const session = await sessionService.createSession({
    appName: 'poems',
    userId: 'ada',
    sessionId: 'first',
    state: {topic: 'rain', [`${State.USER_PREFIX}style`]: 'Basho', [`${State.APP_PREFIX}motto`]: 'brief'},
  });
  for (const stateDelta of [{}, {topic: 'snow', 'temp:tone': 'glad'}]) {
    for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Write.'), stateDelta})) read(event);
  }
  note('first', (await sessionService.getSession({appName: 'poems', userId: 'ada', sessionId: 'first'}))?.state);
  const second = await sessionService.createSession({appName: 'poems', userId: 'ada', sessionId: 'second', state: {topic: 'sun'}});
  const {sessions} = await sessionService.listSessions({appName: 'poems', userId: 'ada'});
  note('sessions', sessions.map(({id}) => id).toSorted());
  for await (const event of runner.runAsync({userId: 'ada', sessionId: second.id, newMessage: says('Write.')})) read(event);
  note('second', (await sessionService.getSession({appName: 'poems', userId: 'ada', sessionId: 'second'}))?.state);
};
