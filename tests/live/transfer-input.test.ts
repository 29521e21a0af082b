import {describe, expect, test} from 'vitest';
import {InMemoryArtifactService} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import {expectValidLive, heldTool, turn, whole, wire, type LiveReading, type LiveStage} from './kit.ts';
import {agentOf, ANSWER, CALL, CALLED, connected, history, TRANSFERRED, transferStage, transferTo} from './transfer-kit.ts';

const pcm = (data: string): {mimeType: string; data: string} => ({mimeType: 'audio/pcm;rate=16000', data});
const sound = (data: string): Record<string, unknown> => ({realtimeInput: {audio: pcm(data)}});
const realtime = ({received}: LiveServerSession): unknown[] => received.filter(({kind}) => kind === 'realtimeInput').map(({body}) => body);

/** The clerk answers, and the run is over. */
async function finish(it: LiveStage, session: LiveServerSession, reading: LiveReading): LiveReading['end'] {
  it.queue.close();
  session.say('Bye.');
  await reading.until('clerk: "Bye." [partial]');
  session.completeTurn();
  return reading.end;
}

/** A clerk who is not there before the test says so: meanwhile no connection is open. */
function lateClerk(): {readonly asked: Promise<void>; readonly come: () => void; readonly make: ReturnType<typeof agentOf>} {
  const [asked, there] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const beforeAgentCallback = async (): Promise<undefined> => {
    asked.resolve();
    await there.promise;
  };
  return {asked: asked.promise, come: there.resolve, make: agentOf('clerk', {beforeAgentCallback})};
}

describe('what the user sends', () => {
  test('while the old agent waits for calls, typed, is said to the new one, and stored once, behind their answer', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const call = await slow.call();
    await it.say('One more thing:');
    await it.say('be quick.');
    call.end('ready');
    const second = await connected(it);
    await second.message('clientContent', 3);
    await reading.run.return();
    expect(wire(session)).toEqual([turn('hi')]);
    expect(wire(second).slice(2)).toEqual([turn('One more thing:'), turn('be quick.')]);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      'root: transfer_to_agent({"agentName":"clerk"}) slow({})',
      'root: transfer_to_agent={"status":"transferred"} slow={"result":"ready"}',
      'user: "One more thing:"',
      'user: "be quick."',
    ]);
    expectValidLive(await it.stage.stored());
  });

  test('between the two connections waits for the new one, in order: turns, sound, pictures, text', async () => {
    const clerk = lateClerk();
    await using it = await transferStage({subAgents: [clerk.make]});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk')]);
    await clerk.asked;
    expect(await session.closed).toMatchObject({early: true});
    void it.queue.sendRealtime(pcm('AAAA'));
    void it.say('more');
    void it.queue.sendRealtime({mimeType: 'image/jpeg', data: 'BBBB'});
    void it.queue.sendRealtime({text: 'typed'});
    void it.queue.sendRealtime(pcm('CCCC'));
    clerk.come();
    const second = await connected(it);
    await second.message('realtimeInput', 3);
    await reading.run.return();
    expect(wire(session)).toEqual([turn('hi')]);
    expect(wire(second)).toEqual([
      history(['user', 'hi'], ['user', CALLED]),
      turn(TRANSFERRED),
      sound('AAAA'),
      turn('more'),
      {realtimeInput: {video: {mimeType: 'image/jpeg', data: 'BBBB'}}},
      {realtimeInput: {text: 'typed'}},
      sound('CCCC'),
    ]);
    expect(await it.stored()).toEqual(['user: "hi"', CALL, ANSWER, 'user: "more"', 'user: "typed"']);
  });

  test('that the old connection takes no more goes out over the new one, and what it took does not', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}, server: {strict: false}});
    const {session, reading} = await it.talk();
    await it.queue.sendRealtime(pcm('AAAA'));
    await session.message('realtimeInput');
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.pauseReading();
    // More than the buffers of a loopback connection hold: its sending is under way when the connection is closed.
    const much = pcm('B'.repeat(12 * 1024 * 1024));
    void it.queue.sendRealtime(much);
    void it.queue.sendRealtime(pcm('CCCC'));
    call.end('ready');
    const second = await connected(it);
    await second.message('realtimeInput', 1);
    session.resumeReading();
    await finish(it, second, reading);
    expect(realtime(session)).toEqual([sound('AAAA')]);
    expect(realtime(second)).toEqual([sound(much.data), sound('CCCC'), {realtimeInput: {audioStreamEnd: true}}]);
  });

  test('while the old connection is lost and comes not back goes to the new agent, stored words as what was said', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}});
    it.server.session((session) => session.acknowledge());
    it.server.session([], {handshake: 'stall'});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.drop();
    const stalled = await it.server.nextSession();
    void it.queue.sendRealtime({text: 'typed'});
    void it.queue.sendRealtime(pcm('AAAA'));
    while (!(await it.stored()).includes('user: "typed"')) await idle();
    call.end('ready');
    const second = await connected(it);
    await second.message('realtimeInput');
    await finish(it, second, reading);
    expect(await stalled.closed).toMatchObject({early: true});
    expect(realtime(second)).toEqual([sound('AAAA'), {realtimeInput: {audioStreamEnd: true}}]);
    expect(wire(second)[0]).toEqual(history(['user', 'hi'], ['user', CALLED, '[root] called tool `slow` with {}'], ['user', 'typed']));
    expect((await it.stored()).filter((line) => line.includes('typed'))).toEqual(['user: "typed"']);
    expectValidLive(await it.stage.stored());
  });

  test('in the middle of a word begins that anew where he himself tells when he speaks', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({
      root: {tools: [slow.tool]},
      runConfig: {realtimeInputConfig: {automaticActivityDetection: {disabled: true}}},
    });
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    await it.queue.sendActivityStart();
    await it.queue.sendRealtime(pcm('AAAA'));
    await session.message('realtimeInput', 1);
    (await slow.call()).end('ready');
    const second = await connected(it);
    await second.message('realtimeInput');
    await it.queue.sendRealtime(pcm('BBBB'));
    await it.queue.sendActivityEnd();
    await second.message('realtimeInput', 2);
    await finish(it, second, reading);
    expect(realtime(second)).toEqual([{realtimeInput: {activityStart: {}}}, sound('BBBB'), {realtimeInput: {activityEnd: {}}}]);
  });

  test('aloud is stored, as far as it was written down, and the new agent answers it', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}, runConfig: {responseModalities: ['AUDIO']}});
    const reading = it.read();
    await it.queue.sendRealtime(pcm('AAAA'));
    const session = await connected(it);
    await session.message('realtimeInput');
    session.transcribeInput('The clerk, please.');
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    await slow.call();
    session.transcribeInput('And hur');
    await reading.until('user: heard:"And hur" [partial]');
    (await slow.call()).end('ready');
    const second = await connected(it);
    await second.message('clientContent', 1);
    it.queue.close();
    second.transcribeOutput('At once.');
    second.completeTurn();
    const {outcome} = await reading.end;
    const stored = [
      'user: heard:"The clerk, please."',
      'root: transfer_to_agent({"agentName":"clerk"}) slow({})',
      'root: transfer_to_agent={"status":"transferred"} slow={"result":"ready"}',
      'user: heard:"And hur"',
      'clerk: spoke:"At once." [turn complete]',
    ];
    expect(whole(reading.lines)).toEqual(stored);
    expect(await it.stored()).toEqual(stored);
    expect(wire(second)).toEqual([
      history(['user', 'The clerk, please.'], ['user', CALLED, '[root] called tool `slow` with {}']),
      {
        clientContent: {
          turns: [{role: 'user', parts: [{text: TRANSFERRED}, {text: '[root] got from `slow`: {"result":"ready"}'}, {text: 'And hur'}]}],
          turnComplete: true,
        },
      },
    ]);
    expect(outcome.kind).toBe('done');
  });

  test('aloud is kept as an artifact where that is asked for, with the next words that are written down', async () => {
    const artifactService = new InMemoryArtifactService();
    await using it = await transferStage({
      runner: {artifactService},
      runConfig: {responseModalities: ['AUDIO'], saveLiveBlob: true, inputAudioTranscription: false},
    });
    const reading = it.read();
    await it.queue.sendRealtime(pcm('AAAA'));
    const session = await connected(it);
    await session.message('realtimeInput');
    session.toolCall([transferTo('clerk')]);
    const second = await connected(it);
    await it.queue.sendRealtime(pcm('BBBB'));
    await second.message('realtimeInput');
    it.queue.close();
    second.transcribeOutput('At once.');
    second.completeTurn();
    await reading.end;
    const {id, actions} = reading.events.at(-1) ?? {};
    expect(Object.keys(actions?.artifactDelta ?? {})).toEqual([`live/${id}/user`]);
    const kept = await artifactService.loadArtifact({appName: 'app', userId: 'u', sessionId: 's', filename: `live/${id}/user`});
    expect(kept?.inlineData?.data).toBe('AAAABBBB');
  });

  test('is all, and the queue closed, before the transfer: the new agent still answers, and then the run is done', async () => {
    await using it = await transferStage();
    const {session, reading} = await it.talk();
    it.queue.close();
    session.toolCall([transferTo('clerk')]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    second.say('At nine.');
    second.completeTurn();
    const {outcome} = await reading.end;
    expect(whole(reading.lines)).toEqual([CALL, ANSWER, 'clerk: "At nine." [turn complete]']);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 2});
    expect(await second.closed).toMatchObject({early: true});
  });

  test('makes no room for more than the queue takes while no agent hears it', async () => {
    const clerk = lateClerk();
    await using it = await transferStage({subAgents: [clerk.make]});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk')]);
    await clerk.asked;
    const chunk = pcm('A'.repeat(1024 * 1024));
    let hasRoom = false;
    // The first is taken by who waits for it; the others are more than the queue likes to hold.
    const sends = [1, 2, 3].map(() => it.queue.sendRealtime(chunk));
    void sends[2]?.then(() => (hasRoom = true));
    for (let turns = 0; turns < 20; turns++) await idle();
    expect(hasRoom).toBe(false);
    clerk.come();
    const second = await connected(it);
    await second.message('realtimeInput', 2);
    await sends[2];
    await finish(it, second, reading);
    expect(realtime(second)).toHaveLength(4);
  });
});
