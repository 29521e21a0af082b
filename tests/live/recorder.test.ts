import {expect, test} from 'vitest';
import {InMemoryArtifactService, InMemoryRunner, LiveRequestQueue, LlmAgent, type Event} from 'sluice';
import {collect, GeminiLiveServer} from 'sluice/testing';
import {liveModelAt} from '../gemini/live/connecting.ts';

const user = {userId: 'u', sessionId: 's'};

test("saveLiveBlob takes sound in the URL's alphabet of base64, which Google's Python client sends", async () => {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    await session.next('realtimeInput');
    session.transcribeInput('Hello');
    session.say('Hi');
    session.completeTurn();
  });
  const agent = new LlmAgent({name: 'root', model: liveModelAt(server)});
  const artifactService = new InMemoryArtifactService();
  const runner = new InMemoryRunner({agent, appName: 'app', artifactService});
  await runner.sessionService.createSession({appName: 'app', ...user});
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data: '____8AAA'});
  liveRequestQueue.close();
  const {error} = await collect(runner.runLive({...user, liveRequestQueue, runConfig: {saveLiveBlob: true}}));
  expect(error).toBeUndefined();
});

test('saveLiveBlob keeps the sound of a turn that a stop cuts short', async () => {
  await using server = await GeminiLiveServer.start();
  server.session(async (session) => {
    await session.acknowledge();
    session.transcribeOutput('He');
    session.audio('AAAA');
  });
  const artifactService = new InMemoryArtifactService();
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: liveModelAt(server)}), appName: 'app', artifactService});
  await runner.sessionService.createSession({appName: 'app', ...user});
  await using run = runner.runLive({...user, liveRequestQueue: new LiveRequestQueue(), runConfig: {saveLiveBlob: true}});
  for (let event: Event | undefined; !event?.content;) event = (await run.next()).value as Event;
  await run.return();
  const stored = (await runner.sessionService.getSession({appName: 'app', ...user}))?.events ?? [];
  expect(stored.map(({actions}) => Object.keys(actions.artifactDelta).length)).toEqual([1]);
});
