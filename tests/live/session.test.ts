import {describe, expect, test} from 'vitest';
import {FunctionTool, LiveRequestQueue, SessionBusyError, type BaseSessionService} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import {answers, expectValidLive, heldTool, liveStage, partText, turn, wire, type LiveStage} from './kit.ts';

type Append = BaseSessionService['appendEvent'];

/** Puts something before each append of the stage's store. */
function beforeAppend({stage}: LiveStage, before: (...request: Parameters<Append>) => Promise<void> | undefined): void {
  const {sessionService} = stage.runner;
  const append = sessionService.appendEvent.bind(sessionService);
  sessionService.appendEvent = async (...request) => {
    await before(...request);
    return append(...request);
  };
}

/** Makes appends wait while the store is held. */
function holdable(it: LiveStage): {hold(): void; release(): void} {
  let held: PromiseWithResolvers<void> | undefined;
  beforeAppend(it, () => held?.promise);
  return {
    hold: () => (held = Promise.withResolvers()),
    release: () => held?.resolve((held = undefined)),
  };
}

describe('a slow session store', () => {
  test('holds up neither what comes nor the sound that goes, and keeps the order', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const sessionService = holdable(it);
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    const call = await a.call();
    sessionService.hold();
    session.transcribeInput('No, ');
    session.transcribeInput('stop!');
    session.interrupt();
    session.completeTurn();
    await it.received('turnComplete');
    // Both are waiting to be stored, and what they mean has happened.
    expect(call.context.abortSignal.aborted).toBe(true);
    await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
    await session.message('realtimeInput');
    session.say('Stopped.');
    session.completeTurn();
    await it.received('Stopped.');
    expect(reading.lines).toEqual(['root: a({})', 'user: heard:"No, " [partial]', 'user: heard:"stop!" [partial]']);
    sessionService.release();
    await reading.until('root: "Stopped." [turn complete]');
    await it.finish(session, reading);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      'root: a({})',
      'user: heard:"No, stop!"',
      'root: [interrupted]',
      'root: [turn complete]',
      'root: a={"error":"cancelled; it may have taken effect","started":true}',
      'root: "Stopped." [turn complete]',
      'root: "Bye." [turn complete]',
    ]);
    expectValidLive(await it.stage.stored());
  });

  test('has a call before its tool starts, and a typed turn before it is sent', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const sessionService = holdable(it);
    const {session, reading} = await it.talk();
    sessionService.hold();
    session.toolCall([{id: '1', name: 'a'}]);
    await it.received('toolCall');
    expect(a.calls).toEqual([]);
    sessionService.release();
    (await a.call()).end('done');
    await session.message('toolResponse');
    sessionService.hold();
    void it.say('more');
    for (let turns = 0; turns < 10; turns++) await idle();
    expect(wire(session)).toEqual([turn('hi'), answers({id: '1', name: 'a', response: {result: 'done'}})]);
    sessionService.release();
    await session.message('clientContent', 1);
    session.say('Yes?');
    session.completeTurn();
    await reading.until('root: "Yes?" [turn complete]');
    await it.finish(session, reading);
  });

  test('that fails ends the run with its own error, and the connection', async () => {
    await using it = await liveStage();
    beforeAppend(it, async ({event}) => {
      if (event.turnComplete) throw new Error('disk full');
    });
    const {session, reading} = await it.talk();
    session.say('Hello.');
    session.completeTurn();
    const {error, outcome} = await reading.end;
    expect(error).toMatchObject({message: 'disk full'});
    expect(outcome.kind).toBe('error');
    expect(reading.lines).toEqual(['root: "Hello." [partial]']);
    expect(await session.closed).toMatchObject({early: true});
  });
});

describe('other runs on the session of a live run', () => {
  test('with the queue of the run that holds the session end, and leave it that queue', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    expect((await it.read().end).error).toBeInstanceOf(SessionBusyError);
    expect(it.queue.closed).toBe(false);
    await it.say('more');
    await session.message('clientContent', 1);
    await it.finish(session, reading);
    expect(it.queue.closed).toBe(true);
  });

  test('get a SessionBusyError at once, of whatever kind they are and wherever they start', async () => {
    const busy: unknown[] = [];
    const inner = new FunctionTool({
      name: 'inner',
      description: 'Starts a run inside its own run.',
      execute: async () => {
        busy.push((await it.chat('from a tool')).collected.error);
        return 'done';
      },
    });
    await using it = await liveStage({agent: {tools: [inner]}});
    const {session, reading} = await it.talk();
    busy.push((await it.chat('meanwhile')).collected.error, (await it.read({liveRequestQueue: new LiveRequestQueue()}).end).error);
    session.toolCall([{id: '1', name: 'inner'}]);
    await session.message('toolResponse');
    expect(busy).toHaveLength(3);
    for (const error of busy) {
      expect(error).toBeInstanceOf(SessionBusyError);
      expect(error).toMatchObject({holder: reading.run.invocationId});
    }
    await it.finish(session, reading);
    expect(it.server.sessions).toHaveLength(1);
    expect((await it.chat('afterwards')).collected.outcome.kind).toBe('done');
  });

  test('see afterwards what was said aloud, and what was done', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}, runConfig: {responseModalities: ['AUDIO']}});
    const reading = it.read();
    await it.queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'});
    const session = await it.server.nextSession();
    await session.message('realtimeInput');
    session.transcribeInput('What is ');
    session.transcribeInput('it worth?');
    // Before the model has said a word.
    session.toolCall([{id: '1', name: 'a', args: {x: 1}}]);
    (await a.call()).end(7);
    await session.message('toolResponse');
    session.audio('AAAA');
    session.transcribeOutput('It is ');
    session.transcribeOutput('seven.');
    session.completeTurn();
    await reading.until('root: spoke:"It is seven." [turn complete]');
    await it.finish(session, reading);
    const {contents} = await it.chat('And now?');
    expect(contents.map(({role, parts = []}) => [role, ...parts.map(partText)])).toEqual([
      ['user', '"What is it worth?"'],
      ['model', 'a({"x":1})'],
      ['user', 'a={"result":7}'],
      ['model', '"It is seven."'],
      ['model', '"Bye."'],
      ['user', '"And now?"'],
    ]);
  });
});

describe('what was said in earlier runs', () => {
  const earlier = async (it: Awaited<ReturnType<typeof liveStage>>): Promise<void> => {
    const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'rain'});
    const model = new ScriptedLlm({steps: [functionCalls({name: 'look', args: {far: true}}), 'It rains.']});
    await it.chat('Weather?', {model, tools: [look]});
  };

  test('is told to a new connection as text, without asking for an answer', async () => {
    await using it = await liveStage();
    await earlier(it);
    const {session, reading} = await it.talk('Still?');
    await session.message('clientContent', 1);
    await it.finish(session, reading);
    expect(wire(session)).toEqual([
      {
        clientContent: {
          turns: [
            {role: 'user', parts: [{text: 'Weather?'}]},
            {role: 'user', parts: [{text: '[root] called tool `look` with {"far":true}'}]},
            {role: 'user', parts: [{text: '[root] got from `look`: {"result":"rain"}'}]},
            {role: 'model', parts: [{text: 'It rains.'}]},
          ],
          turnComplete: false,
        },
      },
      turn('Still?'),
    ]);
  });

  test('is not told where the agent takes no contents, or where there is none', async () => {
    await using it = await liveStage({agent: {includeContents: 'none'}});
    await earlier(it);
    const {session, reading} = await it.talk('Still?');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([turn('Still?')]);
  });

  test('in a live run is told to the next one as it was written down', async () => {
    await using it = await liveStage({runConfig: {responseModalities: ['AUDIO']}});
    const {session, reading} = await it.talk();
    session.transcribeInput('Who is it?');
    session.transcribeOutput('Ada, ');
    session.transcribeOutput('of course.');
    session.completeTurn();
    await reading.until('root: spoke:"Ada, of course." [turn complete]');
    await it.finish(session, reading);
    const queue = new LiveRequestQueue();
    const later = it.read({liveRequestQueue: queue});
    const second = await it.server.nextSession();
    await second.message('clientContent');
    await it.finish(second, later, queue);
    const said = [
      ['user', 'hi'],
      ['user', 'Who is it?'],
      ['model', 'Ada, of course.'],
      ['model', 'Bye.'],
    ];
    expect(wire(second)).toEqual([{clientContent: {turns: said.map(([role, text]) => ({role, parts: [{text}]})), turnComplete: false}}]);
  });
});
