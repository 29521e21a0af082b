// Recorded Live sessions, had again: the user, the server and the tools do what was recorded, and a live run does the rest.
import {beforeAll, describe, expect, test} from 'vitest';
import {InMemoryRunner, LiveRequestQueue, LlmAgent, type Event} from 'sluice';
import {collect, GeminiLiveServer} from 'sluice/testing';
import {liveModelAt} from '../gemini/live/connecting.ts';
import {expectedOutcome} from '../gemini/live/live-recordings.ts';
import {expectValid} from '../stories/kit.ts';
import {contentsOf, contentsOfRecording, said} from './recording-contents.ts';
import {differences, differencesIn} from './recording-differences.ts';
import {outcomeOfPieces, piecesOfEvent, piecesOfFrame, repliesIn, usageIn} from './recording-pieces.ts';
import {play, type Played, type PlayOptions} from './recording-play.ts';
import {loadSessions, type ClientMessage, type RecordedSession} from './recording-sessions.ts';

const sessions = loadSessions();
const named = sessions.map((session) => [session.id, session] as const);

// The first tool with a plain schema loads what checks it; the recorded ends follow their calls at once.
beforeAll(() => import('sluice/arguments'));

const plays = new Map<RecordedSession, Promise<Played>>();

/** The session, played once to a reader who keeps up. */
function played(session: RecordedSession): Promise<Played> {
  const known = plays.get(session) ?? play(session);
  plays.set(session, known);
  return known;
}

describe.skipIf(sessions.length === 0)('a recorded session in a live run', () => {
  test.each(named)('comes out as recorded, piece by piece: %s', async (_, session) => {
    const {events} = await played(session);
    const pieces = events.flatMap(piecesOfEvent);
    expect(pieces).toEqual(session.server.flatMap(piecesOfFrame));
    expect(outcomeOfPieces(pieces)).toEqual({...expectedOutcome(session), flags: flagsOf(session)});
    expectUserFirst(events);
  });

  test.each(named)('is stored whole, without sound: %s', async (_, session) => {
    const run = await played(session);
    const {stored, ran} = run;
    expect(contentsOf(stored)).toEqual(contentsOfRecording(session));
    expect(JSON.stringify(stored)).not.toContain('inlineData');
    expectValid(stored);
    expectKept(run);
    expect(ran).toEqual(session.expect.calls.map(({name, args}) => ({name, args})));
  });

  test.each(named)('makes the run send what the recorded client sent: %s', async (_, session) => {
    const {sent, connections} = await played(session);
    expect(sent).toEqual(rewritten(session));
    expect(connections.map(({refusal, scriptError}) => refusal ?? scriptError)).toEqual([undefined]);
  });

  test.each(named)('ends, and leaves nothing: %s', async (_, session) => {
    const {outcome, stored, connections, listeners, queue} = await played(session);
    const pieces = session.server.flatMap(piecesOfFrame);
    expect(outcome).toEqual({
      kind: session.isWhole ? 'done' : 'return',
      usage: usageIn(pieces),
      llmCalls: repliesIn(pieces),
      abandoned: [],
      lastEventId: stored.at(-1)?.id,
    });
    const ends = await Promise.all(connections.map(({closed}) => closed));
    expect(ends.map(({early, code}) => ({early, code}))).toEqual([{early: true, code: 1000}]);
    expect({listeners, closed: queue.closed}).toEqual({listeners: 0, closed: true});
  });

  const ways: Readonly<Record<string, PlayOptions>> = {
    'is read after all of it has arrived': {late: true},
    'passes a slow hook into a slow store': {slow: true},
    'comes without empty messages in between': {noise: false},
    'comes in text frames': {reframing: {frames: 'text'}},
    'comes in fragments': {reframing: {frameBytes: 7}},
    'comes in TCP writes of 61 bytes': {reframing: {writeBytes: 61}},
    'comes in fragments of text frames that are themselves cut': {
      noise: false,
      reframing: {frames: 'text', frameBytes: 97, writeBytes: 31},
    },
    'comes in as few TCP writes as can be': {together: true},
    'comes in as few TCP writes as can be, and is read late': {together: true, late: true},
    'comes in as few TCP writes as can be, and passes a slow hook into a slow store': {together: true, slow: true},
  };

  test.each(Object.entries(ways))('gives the same Events where it %s', async (_, way) => {
    for (const session of sessions) {
      const [first, other] = [await played(session), await play(session, way)];
      expect([session.id, withoutChance(other.events)]).toEqual([session.id, withoutChance(first.events)]);
      expect([session.id, withoutChance(other.stored)]).toEqual([session.id, withoutChance(first.stored)]);
      expect([session.id, other.sent]).toEqual([session.id, first.sent]);
    }
  });

  test('keeps what was read, and no call without its response, after whichever Event its reader leaves', async () => {
    for (const session of sessions) {
      const {events} = await played(session);
      for (let leaveAfter = 0; leaveAfter < events.length; leaveAfter++) {
        const left = await play(session, {leaveAfter});
        expect(left.outcome).toMatchObject({kind: 'return', abandoned: []});
        expect(withoutChance(left.events)).toEqual(withoutChance(events.slice(0, leaveAfter)));
        expectValid(left.stored);
        expectKept(left);
      }
    }
  });

  test('leaves no socket open', async () => {
    const open = (): string[] => process.getActiveResourcesInfo().filter((name) => name.startsWith('TCP'));
    const before = open();
    for (const session of sessions) await play(session);
    await expect.poll(open).toEqual(before);
  });

  test('so many are the same to the last field, and the table names none that is not there', () => {
    const asTheyAre = sessions.filter((session) => differencesIn(session).length === 0);
    const strays = Object.values(differences).flatMap(({sessions: names}) =>
      names.filter((name) => !sessions.some(({id}) => id.includes(name))),
    );
    expect({all: sessions.length, asTheyAre: asTheyAre.length, strays}).toEqual({all: 41, asTheyAre: 17, strays: []});
  });
});

test('an answer to a call that nobody has made ends a live run, and is not sent', async () => {
  await using server = await GeminiLiveServer.start();
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: liveModelAt(server)}), appName: 'app'});
  await runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  const liveRequestQueue = new LiveRequestQueue();
  const functionResponse = {id: 'function-call-1', name: 'getStatus', response: {mood: 'happy'}};
  void liveRequestQueue.sendContent({parts: [{functionResponse}]});
  const {error} = await collect(runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue}));
  expect(error).toMatchObject({name: 'FunctionResponseError'});
  await Promise.all(server.sessions.map(({closed}) => closed));
  const sent = server.sessions.flatMap(({received}) => received.map(({kind}) => kind));
  expect(sent.filter((kind) => kind !== 'setup')).toEqual([]);
});

function flagsOf(session: RecordedSession): unknown {
  return (session.expect as unknown as {readonly flags: readonly string[]}).flags;
}

/** What a run sends. Each difference that a session is said to have must be there. */
function rewritten(session: RecordedSession): readonly ClientMessage[] {
  let messages = session.client;
  for (const difference of differencesIn(session)) {
    const before = messages;
    messages = difference.rewrite(messages, session);
    expect(messages).not.toEqual(before);
  }
  return messages;
}

/** What the user has said is whole before the model says something to it. */
function expectUserFirst(events: readonly Event[]): void {
  let isHalf = false;
  for (const {author, partial, content, outputTranscription} of events) {
    if (author === 'user') isHalf = partial === true;
    else if (content ?? outputTranscription) expect(isHalf).toBe(false);
  }
}

/** Whole Events are stored as they were read, and partial ones are pieces of the stored Event with their id, which may hold more. */
function expectKept({events, stored}: Played): void {
  const whole = events.filter(({partial}) => !partial);
  expect(whole).toEqual(stored.filter(({id}) => whole.some((event) => event.id === id)));
  const partial = events.filter((event) => event.partial);
  for (const [id, pieces] of Map.groupBy(partial, (event) => event.id)) {
    const kept = said(stored.filter((event) => event.id === id));
    said(pieces).forEach((text, at) => expect(kept[at]?.slice(0, text.length)).toBe(text));
  }
}

/** Events without what is another each time: ids, numbered in the order in which they come, and the time. */
function withoutChance(events: readonly Event[]): unknown {
  const ids: string[] = [];
  const text = JSON.stringify(events).replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => {
    if (!ids.includes(id)) ids.push(id);
    return `id ${ids.indexOf(id)}`;
  });
  return JSON.parse(text.replaceAll(/"timestamp":\d+/g, '"timestamp":0'));
}
