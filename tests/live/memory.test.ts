import {expect, test} from 'vitest';
import {createEvent, FunctionTool, InMemoryRunner, LiveRequestQueue, LlmAgent, Runner} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {answer, collect, GeminiLiveServer, GeminiServer} from 'sluice/testing';
import {liveModelAt} from '../gemini/live/connecting.ts';

const user = {userId: 'u', sessionId: 's'};

test.each(['before it is sent', 'when it is sent'])('an answer that is lost %s goes to the resumed connection once', async (when) => {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    await session.next('clientContent');
    session.together(() => {
      session.toolCall([{name: 'get_weather', args: {city: 'London'}}]);
      session.offerResumption('h');
    });
    if (when === 'when it is sent') await session.next('toolResponse');
    session.drop();
  });
  server.session(async (session) => {
    await session.acknowledge();
    await session.next('toolResponse');
    session.say('Foggy.');
    session.completeTurn();
  });
  const getWeather = new FunctionTool({name: 'get_weather', description: 'd', execute: () => ({output: 'fog'})});
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: liveModelAt(server), tools: [getWeather]}), appName: 'app'});
  await runner.sessionService.createSession({appName: 'app', ...user});
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendContent({parts: [{text: 'Weather in London?'}]});
  liveRequestQueue.close();
  const {error} = await collect(runner.runLive({...user, liveRequestQueue}));
  expect(server.sessions[1]?.received.map(({kind}) => kind)).toEqual(['setup', 'toolResponse']);
  expect(error).toBeUndefined();
});

test('a handle offered before the history was sent does not cover it', async () => {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    session.offerResumption('h');
    session.drop();
  });
  server.session(async (session) => {
    await session.acknowledge();
    while (session.received.filter(({kind}) => kind === 'clientContent').every(({payload}) => payload['turnComplete'] !== true))
      await session.next('clientContent');
    session.say('Alice.');
    session.completeTurn();
  });
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: liveModelAt(server)}), appName: 'app'});
  const session = await runner.sessionService.createSession({appName: 'app', ...user});
  await runner.sessionService.appendEvent({session, event: createEvent({content: {role: 'user', parts: [{text: 'I am Alice.'}]}})});
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendContent({parts: [{text: 'Who am I?'}]});
  liveRequestQueue.close();
  await collect(runner.runLive({...user, liveRequestQueue}));
  const told = server.sessions[1]?.received.map(({text}) => text).join('');
  expect(told).toContain('I am Alice.');
});

test('after a live run of which only the model was written down, a run that is not live is not refused', async () => {
  await using live = await GeminiLiveServer.start();
  live.session(async (session) => {
    await session.acknowledge();
    await session.next('realtimeInput');
    session.say('Yes, I can hear you.');
    session.completeTurn();
  });
  await using server = await GeminiServer.start({replies: [answer('Fine.')]});
  const model = new Gemini({model: 'gemini-live-test', apiKey: 'k', httpOptions: {baseUrl: live.url}});
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model}), appName: 'app'});
  await runner.sessionService.createSession({appName: 'app', ...user});
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data: 'AAAA'});
  liveRequestQueue.close();
  await collect(runner.runLive({...user, liveRequestQueue, runConfig: {responseModalities: ['TEXT']}}));
  const written = new Gemini({model: 'gemini-2.5-flash', apiKey: 'k', attempts: 1, httpOptions: {baseUrl: server.url}});
  const {sessionService} = runner;
  const other = new Runner({agent: new LlmAgent({name: 'root', model: written}), appName: 'app', sessionService});
  const {error} = await collect(other.runAsync({...user, newMessage: {role: 'user', parts: [{text: 'And now?'}]}}));
  expect(error).toBeUndefined();
});
