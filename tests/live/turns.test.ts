import {describe, expect, test, vi} from 'vitest';
import {LiveOverflowError, LlmCallsLimitExceededError, type Event} from 'sluice';
import {bye, expectValidLive, heldTool, liveLine, liveStage, whole} from './kit.ts';
import {idle} from '../stories/kit.ts';

const spoken = {responseModalities: ['AUDIO']};

/** Which Events share an id: a letter for each id, in order of its first sight. */
function sharedIds(events: readonly Event[]): string {
  const seen: string[] = [];
  return events.map(({id}) => String.fromCodePoint(97 + (seen.includes(id) ? seen.indexOf(id) : seen.push(id) - 1))).join('');
}

describe('a turn', () => {
  test('of text: a partial Event of each piece, then the whole one under the same id, which alone is stored', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.send({serverContent: {modelTurn: {parts: [{text: 'Let me think.', thought: true}]}}});
    session.say('Good ');
    session.say('day.');
    session.completeGeneration();
    session.completeTurn();
    await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'root: ~"Let me think." [partial]',
      'root: "Good " [partial]',
      'root: "day." [partial]',
      'root: [partial, generated]',
      'root: ~"Let me think." "Good day." [turn complete]',
      ...bye,
    ]);
    expect(sharedIds(reading.events)).toBe('aaaaabb');
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
    expect(reading.events.every(({author, invocationId}) => author === 'root' && invocationId === reading.run.invocationId)).toBe(true);
    expectValidLive(await it.stage.stored());
  });

  test('of sound: heard and written down by the reader, and stored as what was said', async () => {
    await using it = await liveStage({runConfig: spoken});
    const {session, reading} = await it.talk();
    expect(session.setup).toMatchObject({
      generationConfig: {responseModalities: ['AUDIO']},
      inputAudioTranscription: {},
      outputAudioTranscription: {},
    });
    session.transcribeOutput('Good ');
    session.audio('AAAA');
    session.transcribeOutput('day.');
    session.audio('BBBB');
    session.completeTurn();
    await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'root: spoke:"Good " [partial]',
      'root: <audio/pcm;rate=24000 AAAA> [partial]',
      'root: spoke:"day." [partial]',
      'root: <audio/pcm;rate=24000 BBBB> [partial]',
      'root: spoke:"Good day." [turn complete]',
      ...bye,
    ]);
    expect(sharedIds(reading.events)).toBe('aaaaabb');
    expect(reading.events[4]).toMatchObject({outputTranscription: {text: 'Good day.', finished: true}});
    expect(reading.events[4]).not.toHaveProperty('content');
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
    expect(JSON.stringify(await it.stage.stored())).not.toContain('AAAA');
  });

  test('of the user: fragments of what was heard, and the whole before what the model says to it', async () => {
    await using it = await liveStage({runConfig: spoken});
    const reading = it.read();
    await it.queue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data: 'MMMM'});
    const session = await it.server.nextSession();
    await session.message('realtimeInput');
    session.transcribeInput('What ');
    session.transcribeInput('time?');
    session.transcribeOutput('Noon.');
    session.completeTurn();
    session.transcribeInput('Thank you.');
    await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'user: heard:"What " [partial]',
      'user: heard:"time?" [partial]',
      'user: heard:"What time?"',
      'root: spoke:"Noon." [partial]',
      'root: spoke:"Noon." [turn complete]',
      'user: heard:"Thank you." [partial]',
      'user: heard:"Thank you."',
      ...bye,
    ]);
    expect(sharedIds(reading.events)).toBe('aaabbccdd');
    expect(reading.events[2]).toMatchObject({author: 'user', inputTranscription: {text: 'What time?', finished: true}});
    expect(await it.stored()).toEqual(whole(reading.lines));
  });

  test('of the user that the server calls finished is whole at once', async () => {
    await using it = await liveStage({runConfig: spoken});
    const {session, reading} = await it.talk();
    session.send({serverContent: {inputTranscription: {text: 'One.', finished: true}}});
    session.send({serverContent: {inputTranscription: {text: 'Two'}}});
    session.send({serverContent: {inputTranscription: {finished: true}}});
    await reading.until('user: heard:"Two"');
    expect(reading.lines).toEqual([
      'user: heard:"One." [partial]',
      'user: heard:"One."',
      'user: heard:"Two" [partial]',
      'user: heard:"Two"',
    ]);
    await it.finish(session, reading);
  });

  test('tells its tokens, which the run adds up, and counts as a call of the model', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.say('One.');
    session.completeGeneration();
    session.completeTurn({
      promptTokenCount: 4,
      responseTokenCount: 2,
      totalTokenCount: 6,
      promptTokensDetails: [{modality: 'TEXT', tokenCount: 4}],
    });
    await it.say('more');
    await session.message('clientContent', 1);
    session.say('Two.');
    session.completeTurn({promptTokenCount: 10, responseTokenCount: 3, totalTokenCount: 13});
    it.queue.close();
    const {outcome} = await reading.end;
    expect(whole(reading.lines)).toEqual(['root: "One." [turn complete, 6 tokens]', 'root: "Two." [turn complete, 13 tokens]']);
    expect(reading.events.find(({turnComplete}) => turnComplete)?.usageMetadata).toEqual({
      promptTokenCount: 4,
      candidatesTokenCount: 2,
      totalTokenCount: 6,
      promptTokensDetails: [{modality: 'TEXT', tokenCount: 4}],
    });
    expect(outcome).toEqual({
      kind: 'done',
      usage: {promptTokenCount: 14, candidatesTokenCount: 5, totalTokenCount: 19},
      llmCalls: 2,
      abandoned: [],
      lastEventId: reading.events.at(-1)?.id,
    });
  });

  test('of calls counts once for the calls and once for what follows', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.say('I will ');
    session.say('look.');
    session.toolCall([{name: 'a'}, {name: 'a'}]);
    (await a.call()).end(1);
    (await a.call(1)).end(2);
    await session.message('toolResponse');
    const {outcome} = await it.finish(session, reading);
    expect(outcome.llmCalls).toBe(2);
    expect(whole(reading.lines)).toEqual([
      'root: "I will look." a({}) a({})',
      'root: a={"result":1} a={"result":2}',
      'root: "Bye." [turn complete]',
    ]);
    expect(sharedIds(reading.events)).toBe('aaabcc');
  });

  test('beyond maxLlmCalls ends the run', async () => {
    await using it = await liveStage({runConfig: {maxLlmCalls: 1}});
    const {session, reading} = await it.talk();
    session.say('One.');
    session.completeTurn();
    await reading.until('root: "One." [turn complete]');
    await it.say('more');
    await session.message('clientContent', 1);
    session.say('Two.');
    const {error, outcome} = await reading.end;
    expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 1});
    expect(await it.stored()).toEqual(['user: "hi"', 'root: "One." [turn complete]', 'user: "more"']);
    expect((await session.closed).early).toBe(true);
    expect(it.queue.closed).toBe(true);
  });

  test('that the server completes for a reason tells the reason', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.send({serverContent: {turnComplete: true, turnCompleteReason: 'RESPONSE_REJECTED'}});
    it.queue.close();
    await reading.end;
    expect(reading.events.at(-1)).toMatchObject({turnComplete: true, customMetadata: {turnCompleteReason: 'RESPONSE_REJECTED'}});
  });
});

// No recording holds an interruption: these frames are made by hand.
describe('an interruption', () => {
  test('comes at once, while tools run, and the run goes on', async () => {
    const slow = heldTool('slow', {responseScheduling: 'WHEN_IDLE'});
    await using it = await liveStage({agent: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'slow'}]);
    const call = await slow.call();
    session.say('While we wait, ');
    session.interrupt();
    await reading.until('root: "While we wait, " [interrupted]');
    session.completeTurn();
    await reading.until('root: [turn complete]');
    call.end('done');
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(whole(reading.lines)).toEqual([
      'root: slow({})',
      'root: "While we wait, " [interrupted]',
      'root: [turn complete]',
      'root: slow={"result":"done"}',
      'root: "Bye." [turn complete]',
    ]);
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
  });

  test("drops that turn's sound that was not read yet, and nothing else", async () => {
    await using it = await liveStage({runConfig: spoken});
    const run = it.run();
    void it.say('hi');
    const first = run.next();
    const session = await it.server.nextSession();
    await session.message('clientContent');
    session.audio('AAAA');
    session.transcribeOutput('First.');
    session.completeTurn();
    session.audio('BBBB');
    session.transcribeOutput('Second, and ');
    session.send({
      serverContent: {modelTurn: {parts: [{text: 'aside'}, {inlineData: {mimeType: 'audio/pcm;rate=24000', data: 'CCCC'}}]}},
    });
    session.interrupt();
    session.completeTurn();
    session.audio('DDDD');
    session.transcribeOutput('Third.');
    session.completeTurn();
    await it.received('Third.');
    it.queue.close();
    const lines = [liveLine((await first).value!)];
    for await (const event of run) lines.push(liveLine(event));
    expect(lines).toEqual([
      'root: <audio/pcm;rate=24000 AAAA> [partial]',
      'root: spoke:"First." [partial]',
      'root: spoke:"First." [turn complete]',
      'root: spoke:"Second, and " [partial]',
      'root: "aside" [partial]',
      'root: "aside" spoke:"Second, and " [interrupted]',
      'root: [turn complete]',
      'root: <audio/pcm;rate=24000 DDDD> [partial]',
      'root: spoke:"Third." [partial]',
      'root: spoke:"Third." [turn complete]',
    ]);
  });

  test('drops sound that a hook still looks at', async () => {
    const looking = Promise.withResolvers<void>();
    await using it = await liveStage({runConfig: spoken, agent: {afterModelCallback: () => looking.promise}});
    const {session, reading} = await it.talk();
    session.audio('AAAA');
    session.transcribeOutput('First.');
    session.interrupt();
    session.completeTurn();
    session.audio('BBBB');
    await it.received('BBBB');
    looking.resolve();
    await it.finish(session, reading);
    expect(reading.lines).toEqual([
      'root: spoke:"First." [partial]',
      'root: spoke:"First." [interrupted]',
      'root: [turn complete]',
      'root: <audio/pcm;rate=24000 BBBB> [partial]',
      ...bye,
    ]);
  });
});

describe('a reader who does not keep up', () => {
  test('ends the run with a LiveOverflowError, behind all that was there, and what was whole is stored', async () => {
    await using it = await liveStage({runConfig: {...spoken, liveBufferBytes: 20_000}});
    const run = it.run();
    void it.say('hi');
    const first = run.next();
    const session = await it.server.nextSession();
    await session.message('clientContent');
    session.transcribeOutput('Listen.');
    session.completeTurn();
    await first;
    let sent = 0;
    while (!session.isClosed && sent < 100) {
      session.audio(`${sent++}`.padStart(4_000, 'A'));
      await new Promise((resolve) => setImmediate(resolve));
    }
    expect((await session.closed).early).toBe(true);
    const lines: string[] = [];
    const reading = (async () => {
      for await (const event of run) lines.push(liveLine(event));
    })();
    await expect(reading).rejects.toBeInstanceOf(LiveOverflowError);
    expect(lines[0]).toBe('root: spoke:"Listen." [turn complete]');
    expect(lines.slice(1).every((line) => line.startsWith('root: <audio'))).toBe(true);
    expect(lines.length).toBeLessThanOrEqual(6);
    expect(await it.stored()).toEqual(['user: "hi"', 'root: spoke:"Listen." [turn complete]']);
    expect((await run.settled).kind).toBe('error');
    expect(it.queue.closed).toBe(true);
  });

  test('and then reads goes on where it was', async () => {
    await using it = await liveStage({runConfig: {...spoken, liveBufferBytes: 20_000}});
    const {session, reading} = await it.talk();
    for (let sent = 0; sent < 40; sent++) {
      const data = `${sent}`.padStart(4_000, 'A');
      session.audio(data);
      await reading.until((event) => event.content?.parts?.[0]?.inlineData?.data === data);
    }
    const {outcome} = await it.finish(session, reading);
    expect(outcome.kind).toBe('done');
    expect(reading.events).toHaveLength(42);
  });
});

describe('the end of a run whose user has said all', () => {
  test('waits for the answer to what was said while the model spoke', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    session.say('One, ');
    await reading.until('root: "One, " [partial]');
    await it.say('And two?');
    it.queue.close();
    await session.message('clientContent', 1);
    session.interrupt();
    session.completeTurn();
    await reading.until('root: [turn complete]');
    await idle();
    session.say('Two.');
    session.completeTurn();
    const {outcome} = await reading.end;
    expect(outcome.kind).toBe('done');
    expect(whole(reading.lines)).toEqual(['root: "One, " [interrupted]', 'root: [turn complete]', 'root: "Two." [turn complete]']);
  });

  test('waits five seconds, and no longer, where the model may have something to say or not', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    try {
      await using it = await liveStage({runConfig: spoken});
      const reading = it.read();
      await it.queue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data: 'MMMM'});
      const session = await it.server.nextSession();
      it.queue.close();
      const {payload} = await session.message('realtimeInput', 1);
      expect(payload).toEqual({audioStreamEnd: true});
      await idle();
      await vi.advanceTimersByTimeAsync(4_900);
      session.transcribeOutput('Did you say something?');
      await reading.until('root: spoke:"Did you say something?" [partial]');
      await vi.advanceTimersByTimeAsync(20_000);
      expect(session.isClosed).toBe(false);
      session.completeTurn();
      expect((await reading.end).outcome.kind).toBe('done');
    } finally {
      vi.useRealTimers();
    }
  });

  test('is over after these five seconds where nothing comes', async () => {
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    try {
      await using it = await liveStage({runConfig: spoken});
      const reading = it.read();
      await it.queue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data: 'MMMM'});
      const session = await it.server.nextSession();
      it.queue.close();
      await session.message('realtimeInput', 1);
      for (let turns = 0; turns < 5; turns++) await idle();
      await vi.advanceTimersByTimeAsync(5_000);
      expect((await reading.end).outcome).toMatchObject({kind: 'done', llmCalls: 0});
    } finally {
      vi.useRealTimers();
    }
  });

  test('is the end of the connection, where nothing was said at all', async () => {
    await using it = await liveStage();
    it.queue.close();
    const {outcome} = await it.read().end;
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 0});
    const session = await it.server.nextSession();
    expect(await session.closed).toMatchObject({early: true});
    expect(await it.stored()).toEqual([]);
  });
});
