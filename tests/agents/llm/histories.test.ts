import {expect, test} from 'vitest';
import {createEvent, FunctionTool, InMemorySessionService, LlmAgent, Runner, type GetSessionRequest, type Session} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';

/** A store that makes its Events anew at every read, as one over a database does. */
class Rereading extends InMemorySessionService {
  override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
    const session = await super.getSession(request);
    return session && structuredClone(session);
  }
}

/** The requests of some turns with a call each, over a store. */
async function conversation(sessionService: InMemorySessionService, turns: number, agents = 1): Promise<string[]> {
  const steps = Array.from({length: turns}, (_, n) => [functionCalls({id: `c${n % 3}`, name: 'look', args: {n}}), `answer ${n}`]).flat();
  const model = new ScriptedLlm({steps});
  const look = new FunctionTool({
    name: 'look',
    description: 'Looks.',
    parameters: {type: 'object', properties: {n: {type: 'number'}}},
    execute: (args) => args,
  });
  const runners = Array.from(
    {length: agents},
    () => new Runner({appName: 'a', agent: new LlmAgent({name: 'root', model, tools: [look]}), sessionService}),
  );
  await sessionService.createSession({appName: 'a', userId: 'u', sessionId: 's'});
  for (let turn = 0; turn < turns; turn++) {
    const runner = runners[turn % agents] as Runner;
    await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: [{text: `question ${turn}`}]}}));
  }
  return model.requests.map(({contents}) => JSON.stringify(contents).replaceAll(/adk-[0-9a-f-]{36}/g, 'adk'));
}

test('a history that is kept from run to run gives the same requests as one that is read from the start', async () => {
  const kept = await conversation(new InMemorySessionService(), 6);
  expect(kept).toHaveLength(12);
  expect(await conversation(new Rereading(), 6)).toEqual(kept);
  expect(await conversation(new InMemorySessionService(), 6, 2)).toEqual(kept);
});

test('two runs of one agent on two sessions do not see each other', async () => {
  const sessionService = new InMemorySessionService();
  const model = new ScriptedLlm({steps: ['a', 'b', 'c', 'd']});
  const runner = new Runner({appName: 'a', agent: new LlmAgent({name: 'root', model}), sessionService, autoCreateSession: true});
  const say = (sessionId: string, text: string) => collect(runner.runAsync({userId: 'u', sessionId, newMessage: {parts: [{text}]}}));
  await say('one', '1');
  await say('two', '2');
  await Promise.all([say('one', '3'), say('two', '4')]);
  expect(model.requests.map(({contents}) => contents.map(({parts}) => parts?.[0]?.text))).toEqual([
    ['1'],
    ['2'],
    ['1', 'a', '3'],
    ['2', 'b', '4'],
  ]);
});

test('a run that was stopped leaves a history that the next one can go on with', async () => {
  const sessionService = new InMemorySessionService();
  const model = new ScriptedLlm({steps: [functionCalls({name: 'look'}), 'after']});
  const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 1});
  const runner = new Runner({
    appName: 'a',
    agent: new LlmAgent({name: 'root', model, tools: [look]}),
    sessionService,
    autoCreateSession: true,
  });
  const say = (text: string) => runner.runAsync({userId: 'u', sessionId: 's', newMessage: {parts: [{text}]}});
  for await (const _ of say('go')) break;
  await collect(say('again'));
  expect(model.requests[1]?.contents.map(({parts}) => Object.keys(parts?.[0] ?? {})[0])).toEqual([
    'text',
    'functionCall',
    'functionResponse',
    'text',
  ]);
});

test('sessions that begin with the same Event do not share what was said in them', async () => {
  const greeting = createEvent({author: 'root', content: {role: 'model', parts: [{text: 'Hello.'}]}});
  class Greeting extends InMemorySessionService {
    override async getSession(request: GetSessionRequest): Promise<Session | undefined> {
      const session = await super.getSession(request);
      session?.events.unshift(greeting);
      return session;
    }
  }
  const model = new ScriptedLlm({steps: Array.from({length: 6}, (_, n) => `answer ${n}`)});
  const runner = new Runner({
    appName: 'a',
    agent: new LlmAgent({name: 'root', model}),
    sessionService: new Greeting(),
    autoCreateSession: true,
  });
  const say = (userId: string, text: string) => collect(runner.runAsync({userId, sessionId: 's', newMessage: {parts: [{text}]}}));
  const told = () =>
    model.requests
      .map(({contents}) => contents.map(({parts}) => parts?.[0]?.text))
      .map((texts) => texts.filter((it) => it?.startsWith('secret')));
  await Promise.all(['ada', 'bob', 'cay'].map((user) => say(user, `secret of ${user}`)));
  await Promise.all(['cay', 'ada', 'bob'].map((user) => say(user, `secret again of ${user}`)));
  expect(told()).toEqual([
    ['secret of ada'],
    ['secret of bob'],
    ['secret of cay'],
    ['secret of cay', 'secret again of cay'],
    ['secret of ada', 'secret again of ada'],
    ['secret of bob', 'secret again of bob'],
  ]);
});
