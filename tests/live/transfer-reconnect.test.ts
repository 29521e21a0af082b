import {describe, expect, test} from 'vitest';
import {ModelError} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {expectNoListeners} from '../stories/kit.ts';
import {expectValidLive, heldTool, turn, whole, wire, type LiveReading, type LiveStage} from './kit.ts';
import {
  agentOf,
  ANSWER,
  CALL,
  CALLED,
  connected,
  handedOver,
  history,
  modelOf,
  TRANSFERRED,
  transferStage,
  transferTo,
} from './transfer-kit.ts';

const resumes = ({setup}: LiveServerSession): unknown => setup?.['sessionResumption'];

async function offer(session: LiveServerSession, reading: LiveReading, handle: string): Promise<void> {
  session.offerResumption(handle);
  await reading.until(({liveSessionResumptionUpdate: it}) => it?.newHandle === handle);
}

async function finish(it: LiveStage, session: LiveServerSession, reading: LiveReading): LiveReading['end'] {
  it.queue.close();
  session.say('Bye.');
  session.completeTurn();
  return reading.end;
}

describe('a connection that is lost after a transfer', () => {
  test('is followed by another one of the new agent, which is told and asked the same once more', async () => {
    await using it = await transferStage();
    const {second, reading} = await handedOver(it);
    second.say('At n');
    await reading.until('clerk: "At n" [partial]');
    second.drop();
    const third = await connected(it);
    await third.message('clientContent', 1);
    const {outcome} = await finish(it, third, reading);
    expect(it.server.sessions.map(modelOf)).toEqual(['live-root', 'live-clerk', 'live-clerk'].map((name) => `models/${name}`));
    expect(wire(third)).toEqual([history(['user', 'hi'], ['user', CALLED]), turn(TRANSFERRED)]);
    expect(wire(third)).toEqual(wire(second));
    expect(third.setup).toEqual(second.setup);
    expect(whole(reading.lines)).toEqual([CALL, ANSWER, 'clerk: "At n" [interrupted]', 'clerk: "Bye." [turn complete]']);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 3});
    expectValidLive(await it.stage.stored());
  });

  test('is told all where the new agent has answered, and asked nothing', async () => {
    await using it = await transferStage();
    const {second, reading} = await handedOver(it);
    second.say('At nine.');
    second.completeTurn();
    await reading.until('clerk: "At nine." [turn complete]');
    second.drop();
    const third = await connected(it);
    await third.message('clientContent');
    await it.say('Thanks.');
    await third.message('clientContent', 1);
    await finish(it, third, reading);
    expect(wire(third)).toEqual([history(['user', 'hi'], ['user', CALLED], ['user', TRANSFERRED], ['model', 'At nine.']), turn('Thanks.')]);
  });

  test('resumes at a handle of the new agent, and never at one of the old', async () => {
    await using it = await transferStage();
    const {session, reading} = await it.talk();
    await offer(session, reading, 'root-1');
    session.toolCall([transferTo('clerk')]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    second.say('At nine.');
    second.completeTurn();
    await reading.until('clerk: "At nine." [turn complete]');
    await offer(second, reading, 'clerk-1');
    second.drop();
    const third = await connected(it);
    await it.say('Thanks.');
    await third.message('clientContent');
    await finish(it, third, reading);
    expect(it.server.sessions.map(resumes)).toEqual([{}, {}, {handle: 'clerk-1'}]);
    expect(wire(third)).toEqual([turn('Thanks.')]);
  });

  test('does not come about: that is tried again, and what was asked is asked over the one that does', async () => {
    await using it = await transferStage();
    const {session, reading} = await it.talk();
    it.server.session([], {handshake: {status: 503, body: {}}});
    session.toolCall([transferTo('clerk')]);
    const refused = await it.server.nextSession();
    const third = await connected(it);
    await third.message('clientContent', 1);
    const {outcome} = await finish(it, third, reading);
    expect(refused.refusal).toMatchObject({code: 503});
    expect(wire(third)).toEqual([history(['user', 'hi'], ['user', CALLED]), turn(TRANSFERRED)]);
    expect(outcome.kind).toBe('done');
  });

  test('for good ends the run with that error, and nothing is left open', async () => {
    await using it = await transferStage();
    const stop = new AbortController();
    const {session, reading} = await it.talk('hi', {abortSignal: stop.signal});
    it.server.session([], {handshake: {status: 404, body: {}}});
    session.toolCall([transferTo('clerk')]);
    const {outcome} = await reading.end;
    expect(outcome).toMatchObject({kind: 'error', reason: expect.any(ModelError)});
    expect(whole(reading.lines)).toEqual([CALL, ANSWER]);
    expect(it.queue.closed).toBe(true);
    expect(await session.closed).toMatchObject({early: true});
    expectNoListeners(stop.signal);
    expectValidLive(await it.stage.stored());
  });
});

describe('a handle that a run was given', () => {
  test('is used for the agent that it begins with, and for no other', async () => {
    await using it = await transferStage({server: {strict: false}});
    const {session, reading} = await it.talk('hi', {liveSessionResumptionHandle: 'given'});
    session.toolCall([transferTo('clerk')]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    await finish(it, second, reading);
    expect(it.server.sessions.map(resumes)).toEqual([{handle: 'given'}, {}]);
  });
});

describe('a connection that is lost before a transfer', () => {
  test('while its siblings run is not needed any more: the new agent begins, whatever became of it', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}, subAgents: [agentOf('clerk')]});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const {end} = await slow.call();
    session.drop();
    const again = await connected(it);
    end('ready');
    const third = await connected(it);
    await third.message('clientContent', 1);
    const {outcome} = await finish(it, third, reading);
    expect(await again.closed).toMatchObject({early: true});
    expect(it.server.sessions.map(modelOf)).toEqual(['live-root', 'live-root', 'live-clerk'].map((name) => `models/${name}`));
    expect(whole(reading.lines).slice(0, 2)).toEqual([
      'root: transfer_to_agent({"agentName":"clerk"}) slow({})',
      'root: transfer_to_agent={"status":"transferred"} slow={"result":"ready"}',
    ]);
    expect(outcome.kind).toBe('done');
    expectValidLive(await it.stage.stored());
  });
});
