import {says, type Program} from '../stage.ts';

/** What a program asks of its session service and of a state. */
export const program: Program = async ({InMemorySessionService, LlmAgent, Runner, State, createEvent}, {model, note, read}) => {
  const sessionService = new InMemorySessionService();
  const agent = new LlmAgent({name: 'clerk', model: model('clerk', ['One.', 'Two.']), instruction: 'Count.'});
  const runner = new Runner({appName: 'office', agent, sessionService});
  const key = {appName: 'office', userId: 'ada', sessionId: 's'};
  const session = await sessionService.createSession({...key, state: {count: 0}});
  note('created', {id: session.id, appName: session.appName, userId: session.userId, state: session.state, events: session.events});
  for (const text of ['Go.', 'On.']) {
    const run = runner.runAsync({
      userId: 'ada',
      sessionId: 's',
      newMessage: says(text),
      stateDelta: {count: text.length},
      customMetadata: {text},
    });
    for await (const event of run) read(event);
  }
  const texts = async (config?: {numRecentEvents?: number; afterTimestamp?: number}): Promise<unknown> =>
    (await sessionService.getSession({...key, ...(config && {config})}))?.events.map(({content}) => content?.parts?.[0]?.text);
  note('all', await texts());
  note('recent', await texts({numRecentEvents: 2}));
  note('after', await texts({afterTimestamp: Date.now() + 1_000}));
  const stored = await sessionService.getSession(key);
  if (stored) {
    const event = createEvent({author: 'clerk', invocationId: 'i', actions: {stateDelta: {count: 7, 'user:name': 'Ada', 'temp:x': 1}}});
    await sessionService.appendEvent({session: stored, event});
    note(
      'metadata',
      stored.events.map(({customMetadata}) => customMetadata),
    );
  }
  note('state', (await sessionService.getSession(key))?.state);
  note(
    'sessions',
    (await sessionService.listSessions({appName: 'office', userId: 'ada'})).sessions.map(({id, events}) => ({id, events})),
  );
  await sessionService.deleteSession(key);
  note('deleted', await sessionService.getSession(key));
  const delta = {};
  const state = new State({a: 1}, delta);
  state.set('b', 2);
  state.update({c: 3});
  note('of a state', [state.get('a'), state.get('b'), state.get('d', 4), state.has('c'), state.hasDelta(), state.toRecord(), delta]);
};
