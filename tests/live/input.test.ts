import {describe, expect, test} from 'vitest';
import {LiveRequestQueue, LiveRequestQueueError, type LiveRequest, type RealtimeInput} from 'sluice';
import {idle} from '../stories/kit.ts';
import {answers, heldTool, liveStage, turn, wire} from './kit.ts';

const pcm = (data: string): {mimeType: string; data: string} => ({mimeType: 'audio/pcm;rate=16000', data});
const text = (said: string): {role: string; parts: {text: string}[]} => ({role: 'user', parts: [{text: said}]});
const realtime = (input: object): Record<string, unknown> => ({realtimeInput: input});

/** Whether a promise is settled by now. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  await idle();
  return settled;
}

describe('a LiveRequestQueue', () => {
  test('gives what was sent, in order, and is done when it is closed', async () => {
    const queue = new LiveRequestQueue();
    void queue.sendContent(text('one'));
    void queue.sendRealtime(pcm('AAAA'));
    const got: LiveRequest[] = [];
    const reading = (async () => {
      for await (const request of queue) got.push(request);
    })();
    await idle();
    void queue.sendRealtime({mimeType: 'image/jpeg', data: 'BBBB'});
    void queue.sendRealtime({audio: pcm('CCCC')});
    void queue.sendRealtime({text: 'two'});
    void queue.sendActivityStart();
    void queue.sendActivityEnd();
    void queue.sendRealtime({audioStreamEnd: true});
    void queue.sendContent({parts: [{functionResponse: {id: '1', response: {}}}]});
    expect(queue.closed).toBe(false);
    queue.close();
    queue.close();
    await reading;
    expect(queue.closed).toBe(true);
    expect(got).toEqual([
      {content: text('one')},
      {realtimeInput: {audio: pcm('AAAA')}},
      {realtimeInput: {video: {mimeType: 'image/jpeg', data: 'BBBB'}}},
      {realtimeInput: {audio: pcm('CCCC')}},
      {realtimeInput: {text: 'two'}},
      {realtimeInput: {activityStart: {}}},
      {realtimeInput: {activityEnd: {}}},
      {realtimeInput: {audioStreamEnd: true}},
      {content: {parts: [{functionResponse: {id: '1', response: {}}}]}},
    ]);
  });

  test('keeps what it was given, whatever becomes of that afterwards', async () => {
    const queue = new LiveRequestQueue();
    const content = text('one');
    void queue.sendContent(content);
    content.parts[0]!.text = 'changed';
    const {value} = await queue[Symbol.asyncIterator]().next();
    expect(value).toEqual({content: text('one')});
  });

  test('asks who sends to wait from highWaterMark on, until there is room', async () => {
    const queue = new LiveRequestQueue({highWaterMark: 8});
    expect(await isSettled(queue.sendRealtime(pcm('AAAA')))).toBe(true);
    expect(await isSettled(queue.sendRealtime(pcm('BBBB')))).toBe(true);
    const third = queue.sendRealtime(pcm('CCCC'));
    const fourth = queue.sendRealtime(pcm('DDDD'));
    expect(await isSettled(third)).toBe(false);
    const reader = queue[Symbol.asyncIterator]();
    await reader.next();
    expect(await isSettled(third)).toBe(false);
    await reader.next();
    expect([await isSettled(third), await isSettled(fourth)]).toEqual([true, true]);
    await reader.return();
  });

  test('lets those go who wait when it is closed', async () => {
    const queue = new LiveRequestQueue({highWaterMark: 1});
    const waiting = queue.sendRealtime(pcm('AAAA'));
    expect(await isSettled(waiting)).toBe(false);
    queue.close();
    expect(await isSettled(waiting)).toBe(true);
  });

  test('refuses more than maxSize, at once, and takes again when there is room', async () => {
    const queue = new LiveRequestQueue({highWaterMark: 4, maxSize: 10});
    void queue.sendRealtime(pcm('AAAA'));
    void queue.sendRealtime(pcm('BBBB'));
    const refused = (): unknown => {
      try {
        return queue.sendRealtime(pcm('CCCC'));
      } catch (error) {
        return error;
      }
    };
    expect(refused()).toBeInstanceOf(LiveRequestQueueError);
    expect(refused()).toMatchObject({
      code: 'LIVE_QUEUE_FULL',
      message: 'The queue holds 8 characters and takes no more than 10: await what a send returns',
    });
    const reader = queue[Symbol.asyncIterator]();
    await reader.next();
    void queue.sendRealtime(pcm('CC'));
    await reader.return();
  });

  test('takes nothing once it is closed', () => {
    const queue = new LiveRequestQueue();
    queue.close();
    const sends = [
      () => queue.sendContent(text('one')),
      () => queue.sendRealtime(pcm('AAAA')),
      () => queue.sendActivityStart(),
      () => queue.sendActivityEnd(),
    ];
    for (const send of sends) {
      expect(send).toThrow(LiveRequestQueueError);
      expect(send).toThrow('The queue is closed: it was told to, or its run has ended');
    }
  });

  test('is for one reader, who closes it by leaving', async () => {
    const queue = new LiveRequestQueue();
    void queue.sendContent(text('one'));
    void queue.sendContent(text('two'));
    for await (const request of queue) {
      expect(request).toEqual({content: text('one')});
      break;
    }
    expect(queue.closed).toBe(true);
    await expect(queue[Symbol.asyncIterator]().next()).rejects.toThrow(
      'Expected `liveRequestQueue` to be a queue of its own for each run, got an object (LiveRequestQueue)',
    );
  });

  const expected =
    'a blob, {mimeType, data} with data in base64, or an object with one of audio, video, text, activityStart, activityEnd, audioStreamEnd';
  test.each<[string, (queue: LiveRequestQueue) => unknown, string]>([
    [
      'no content',
      (it) => it.sendContent(undefined as never),
      'Expected `content` to be a content, {role: "user", parts: [...]}, with at least one part, got undefined',
    ],
    [
      'a text',
      (it) => it.sendContent('hi' as never),
      'Expected `content` to be a content, {role: "user", parts: [...]}, with at least one part, got "hi" (string)',
    ],
    [
      'no parts',
      (it) => it.sendContent({role: 'user', parts: []}),
      'Expected `content` to be a content, {role: "user", parts: [...]}, with at least one part, got an object (Object)',
    ],
    [
      'a part that is none',
      (it) => it.sendContent({parts: ['hi' as never]}),
      'Expected `content.parts` to be parts such as {text: "..."}, got "hi" (string)',
    ],
    [
      'the role of a model',
      (it) => it.sendContent({role: 'model', parts: [{text: 'hi'}]}),
      'Expected `content.role` to be "user", got "model" (string)',
    ],
    [
      'an empty part',
      (it) => it.sendContent({parts: [{}]}),
      'Expected `content.parts` to be parts such as {text: "..."}, got an object (Object)',
    ],
    [
      'an empty text',
      (it) => it.sendContent({parts: [{text: ''}]}),
      'Expected `content.parts` to be a message that is not empty, got "" (string)',
    ],
    [
      'a call',
      (it) => it.sendContent({parts: [{functionCall: {name: 'f'}}]}),
      'Expected `content.parts` to be parts of a user, without functionCall, got an object (Object)',
    ],
    ['no blob', (it) => it.sendRealtime(undefined as never), `Expected \`input\` to be ${expected}, got undefined`],
    [
      'a blob of bytes',
      (it) => it.sendRealtime({mimeType: 'audio/pcm', data: new Uint8Array(2) as never}),
      'Expected `input.data` to be bytes in base64, got an object (Uint8Array)',
    ],
    [
      'a blob without data',
      (it) => it.sendRealtime({mimeType: 'audio/pcm', data: ''}),
      'Expected `input.data` to be bytes in base64, got "" (string)',
    ],
    [
      'a blob of no medium',
      (it) => it.sendRealtime({mimeType: 'text/plain', data: 'AAAA'}),
      'Expected `input.mimeType` to be audio/..., image/... or video/..., got "text/plain" (string)',
    ],
    [
      'a blob of no type',
      (it) => it.sendRealtime({data: 'AAAA'}),
      'Expected `input.mimeType` to be audio/..., image/... or video/..., got undefined',
    ],
    [
      'a blob in the wrong place',
      (it) => it.sendRealtime({audio: {mimeType: 'audio/pcm'}}),
      'Expected `input.audio.data` to be bytes in base64, got undefined',
    ],
    ['an unknown kind', (it) => it.sendRealtime({smell: 'roses'} as never), `Expected \`input\` to be ${expected}, got an object (Object)`],
    [
      'two kinds',
      (it) => it.sendRealtime({text: 'a', audioStreamEnd: true}),
      `Expected \`input\` to be ${expected}, got an object (Object)`,
    ],
    ['no base64', (it) => it.sendRealtime(pcm('%%%')), 'Expected `input.data` to be bytes in base64, got "%%%" (string)'],
    [
      'an end of a stream that is none',
      (it) => it.sendRealtime({audioStreamEnd: false}),
      'Expected `input.audioStreamEnd` to be true, got false (boolean)',
    ],
    [
      'an activity with something in it',
      (it) => it.sendRealtime({activityStart: {x: 1} as never}),
      'Expected `input.activityStart` to be an empty object, got an object (Object)',
    ],
    ['an empty realtime text', (it) => it.sendRealtime({text: ''}), 'Expected `input.text` to be a non-empty string, got "" (string)'],
  ])('refuses %s', async (_, send, message) => {
    const queue = new LiveRequestQueue();
    const attempt = (): unknown => send(queue);
    expect(attempt).toThrow(message);
    expect(attempt).toThrow(expect.objectContaining({code: 'INVALID_OPTION'}));
  });

  test.each([
    [{highWaterMark: 0}, 'Expected `liveRequestQueue.highWaterMark` to be a number above 0, or Infinity, got 0 (number)'],
    [{maxSize: '1'}, 'Expected `liveRequestQueue.maxSize` to be a number above 0, or Infinity, got "1" (string)'],
    [{size: 1}, 'size'],
  ])('is not made with %j', (options, message) => {
    expect(() => new LiveRequestQueue(options as never)).toThrow(message);
  });
});

describe('what a user sends to a run', () => {
  test('goes out in order: turns, sound, pictures, text, activity; what is said in words is stored', async () => {
    await using it = await liveStage();
    const reading = it.read();
    const {queue} = it;
    void queue.sendActivityStart();
    void queue.sendRealtime(pcm('AAAA'));
    void queue.sendRealtime({mimeType: 'image/jpeg', data: 'BBBB'});
    void queue.sendRealtime({text: 'by the way'});
    void queue.sendActivityEnd();
    void it.say('typed');
    const session = await it.server.nextSession();
    await session.message('clientContent');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([
      realtime({activityStart: {}}),
      realtime({audio: pcm('AAAA')}),
      realtime({video: {mimeType: 'image/jpeg', data: 'BBBB'}}),
      realtime({text: 'by the way'}),
      realtime({activityEnd: {}}),
      turn('typed'),
    ]);
    expect(await it.stored()).toEqual(['user: "by the way"', 'user: "typed"', 'root: "Bye." [turn complete]']);
  });

  test('before the run has begun is not lost', async () => {
    await using it = await liveStage();
    await it.say('one');
    await it.say('two');
    const reading = it.read();
    const session = await it.server.nextSession();
    await session.message('clientContent', 1);
    session.say('Both.');
    session.completeTurn();
    await reading.until('root: "Both." [turn complete]');
    await it.finish(session, reading);
    expect(wire(session)).toEqual([turn('one'), turn('two')]);
  });

  // livekit/agents-js PR#1130: the real server closes with 1008, as does this one.
  test('as a turn waits while the model waits for a tool; sound does not', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    const call = await a.call();
    await it.say('and');
    await it.say('also');
    await it.queue.sendRealtime(pcm('AAAA'));
    await it.queue.sendRealtime({text: 'hm'});
    await session.message('realtimeInput', 1);
    expect(wire(session)).toEqual([turn('hi'), realtime({audio: pcm('AAAA')}), realtime({text: 'hm'})]);
    call.end('done');
    await session.message('clientContent', 2);
    it.queue.close();
    await session.message('realtimeInput', 2);
    session.say('Both done.');
    session.completeTurn();
    await reading.until('root: "Both done." [turn complete]');
    await it.finish(session, reading);
    await session.closed;
    expect(wire(session)).toEqual([
      turn('hi'),
      realtime({audio: pcm('AAAA')}),
      realtime({text: 'hm'}),
      answers({id: '1', name: 'a', response: {result: 'done'}}),
      turn('and'),
      turn('also'),
      realtime({audioStreamEnd: true}),
    ]);
    expect(session.refusal).toBeUndefined();
  });

  test('as a turn that waits is still said when the queue is closed meanwhile', async () => {
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    const call = await a.call();
    await it.say('and');
    it.queue.close();
    await idle();
    call.end('done');
    await session.message('clientContent', 1);
    session.say('All done.');
    await reading.until('root: "All done." [partial]');
    session.completeTurn();
    // The answer to the tool and the turn may have been answered together, or not.
    session.say('Bye.');
    session.completeTurn();
    const {outcome} = await reading.end;
    expect(outcome.kind).toBe('done');
    expect(reading.lines.slice(-1)).toEqual(['root: "Bye." [turn complete]']);
    expect(wire(session)).toEqual([turn('hi'), answers({id: '1', name: 'a', response: {result: 'done'}}), turn('and')]);
  });

  test('ends, and with it the run, after the last turn', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    it.queue.close();
    session.say('Well, ');
    session.say('goodbye.');
    await reading.until('root: "goodbye." [partial]');
    expect(session.isClosed).toBe(false);
    session.completeGeneration();
    session.completeTurn();
    const {outcome} = await reading.end;
    expect(outcome.kind).toBe('done');
    expect(await session.closed).toMatchObject({early: true, code: 1000});
  });

  const image = {mimeType: 'image/jpeg', data: 'BBBB'};
  test.each<[string, readonly RealtimeInput[], readonly RealtimeInput[]]>([
    ['sound', [{audio: pcm('AAAA')}], [{audioStreamEnd: true}]],
    ['sound and pictures', [{audio: pcm('AAAA')}, {video: image}], [{audioStreamEnd: true}]],
    ['sound whose end was told', [{audio: pcm('AAAA')}, {audioStreamEnd: true}], []],
    // The model is told who speaks when, and takes no end of the stream.
    ['a word', [{activityStart: {}}, {audio: pcm('AAAA')}, {activityEnd: {}}], []],
    ['half a word', [{activityStart: {}}, {audio: pcm('AAAA')}], [{activityEnd: {}}]],
    ['silence after a word', [{activityStart: {}}, {audio: pcm('AAAA')}, {activityEnd: {}}, {audio: pcm('CCCC')}], []],
    ['pictures', [{video: image}], []],
  ])('as %s ends, when the queue is closed, as the API wants it', async (_, inputs, end) => {
    await using it = await liveStage();
    const reading = it.read();
    for (const input of inputs) void it.queue.sendRealtime(input);
    it.queue.close();
    const session = await it.server.nextSession();
    await session.message('realtimeInput', inputs.length + end.length - 1);
    await it.finish(session, reading);
    await session.closed;
    expect(wire(session)).toEqual([...inputs, ...end].map((input) => ({realtimeInput: input})));
  });

  test('as more than a slow server takes makes who sends it wait', async () => {
    await using it = await liveStage({server: {strict: false}});
    const {session, reading} = await it.talk();
    session.pauseReading();
    const chunk = pcm('A'.repeat(256 * 1024));
    let sent = 0;
    let blocked: Promise<void> | undefined;
    while (!blocked && sent < 400) {
      const sending = it.queue.sendRealtime(chunk);
      sent++;
      if (!(await isSettled(sending))) blocked = sending;
    }
    expect(sent).toBeLessThan(400);
    session.resumeReading();
    await blocked;
    await session.message('realtimeInput', sent - 1);
    await it.finish(session, reading);
  });
});
