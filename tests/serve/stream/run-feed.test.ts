import {getEventListeners} from 'node:events';
import fc from 'fast-check';
import {FunctionTool, ModelError, RunCancelledError, SessionNotFoundError, type CreateEventParams} from 'sluice';
import {deltas, functionCalls, type ScriptedStep} from 'sluice/testing';
import {describe, expect, test, vi} from 'vitest';
import {EventGoneError} from '../../../lib/serve/stream/feed-reader.ts';
import {RunFeed, type FeedResponseOptions} from '../../../lib/serve/stream/run-feed.ts';
import {Loopback} from './loopback.ts';
import {eventsOf, hello, messagesOf, scriptedRun, stage, type Message} from './stage.ts';

/** Reads so many messages of a feed, then leaves; fewer where the run ends before. */
async function read(feed: RunFeed, options: FeedResponseOptions, most = Infinity): Promise<{messages: Message[]; ended: boolean}> {
  const response = feed.toResponse(options);
  const messages: Message[] = [];
  if (response.status === 204) return {messages, ended: true};
  const reading = messagesOf(response);
  while (messages.length < most) {
    const {done, value} = await reading.next();
    if (done) return {messages, ended: true};
    messages.push(value);
  }
  // A generator that was never asked has nothing to leave.
  if (most === 0) await response.body?.cancel();
  else await reading.return();
  return {messages, ended: false};
}

const whole = (messages: readonly Message[]): string[] => eventsOf(messages).flatMap(({id, partial}) => (partial ? [] : [id]));
const piece = (id: string, text: string): CreateEventParams => ({id, partial: true, content: {role: 'model', parts: [{text}]}});
const said = (id: string, text = 'x'): CreateEventParams => ({id, content: {role: 'model', parts: [{text}]}});

/** A run of replies with so many pieces each, and with a tool's progress in between. */
function* replies(pieces: readonly number[]): Generator<CreateEventParams> {
  for (const [at, count] of pieces.entries()) {
    for (let n = 0; n < count; n++) yield piece(`e${at}`, `${n} `);
    yield said(`e${at}`);
    const functionResponse = {id: `c${at}`, name: 'look', response: {}};
    if (count % 3 === 2) {
      yield {partial: true, content: {role: 'user', parts: [{functionResponse: {...functionResponse, willContinue: true}}]}};
      yield {id: `r${at}`, content: {role: 'user', parts: [{functionResponse}]}};
    }
  }
}

const wholeIds = (pieces: readonly number[]): string[] =>
  pieces.flatMap((count, at) => (count % 3 === 2 ? [`e${at}`, `r${at}`] : [`e${at}`]));

describe('a client that leaves and comes back with its last id', () => {
  test('sees every whole Event once, in order, whenever that is', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.nat({max: 5}), {minLength: 1, maxLength: 6}),
      fc.array(fc.record({most: fc.nat({max: 6}), ticks: fc.nat({max: 60})}), {maxLength: 8}),
      async (pieces, visits) => {
        const feed = new RunFeed(scriptedRun(() => replies(pieces)));
        const seen: Message[] = [];
        for (const {most, ticks} of [...visits, {most: Infinity, ticks: 0}]) {
          seen.push(...(await read(feed, {after: seen.at(-1)?.id}, most)).messages);
          // Meanwhile the run goes on, more or less.
          for (let tick = 0; tick < ticks; tick++) await Promise.resolve();
        }
        expect(whole(seen)).toEqual(wholeIds(pieces));
        const ids = seen.map(({id}) => id);
        expect(new Set(ids).size).toBe(ids.length);
        expect((await feed.settled).kind).toBe('done');
      },
    );
    await fc.assert(property, {numRuns: 150});
  });

  test('sees every whole Event as lines of JSON too, by the id of the last whole one', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.nat({max: 5}), {minLength: 1, maxLength: 6}),
      fc.array(fc.nat({max: 6}), {maxLength: 8}),
      async (pieces, visits) => {
        const feed = new RunFeed(scriptedRun(() => replies(pieces)));
        const seen: string[] = [];
        for (const most of [...visits, Infinity]) {
          seen.push(...whole((await read(feed, {format: 'ndjson', after: seen.at(-1)}, most)).messages));
        }
        expect(seen).toEqual(wholeIds(pieces));
      },
    );
    await fc.assert(property, {numRuns: 60});
  });

  test('sees every whole Event, or is told that it cannot, with a small buffer', async () => {
    let gone = 0;
    const property = fc.asyncProperty(
      fc.array(fc.nat({max: 5}), {minLength: 1, maxLength: 6}),
      fc.array(fc.nat({max: 6}), {maxLength: 4}),
      fc.integer({min: 1, max: 2_000}),
      async (pieces, visits, bufferBytes) => {
        const feed = new RunFeed(
          scriptedRun(() => replies(pieces)),
          {bufferBytes},
        );
        const seen: Message[] = [];
        try {
          for (const most of [...visits, Infinity]) {
            seen.push(...(await read(feed, {after: seen.at(-1)?.id}, most)).messages);
            if (seen.length === 0 && most === 0) await feed.settled;
          }
        } catch (error) {
          expect(error).toBeInstanceOf(EventGoneError);
          gone++;
          return;
        }
        expect(whole(seen)).toEqual(wholeIds(pieces));
      },
    );
    await fc.assert(property, {numRuns: 60});
    expect(gone).toBeGreaterThan(0);
  });

  test('misses nothing over real sockets', async () => {
    const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'blue'});
    const gate = Promise.withResolvers<void>();
    const gated: ScriptedStep = async function* () {
      yield* deltas('One', '.').slice(0, 1);
      await gate.promise;
      yield* deltas('One', '.').slice(1);
    };
    const it = await stage([functionCalls({name: 'look'}), gated], [look]);
    const feed = new RunFeed(it.run());
    await using loopback = await Loopback.start((request) =>
      feed.toResponse({request, after: request.headers.get('last-event-id') ?? undefined}),
    );
    const seen: Message[] = [];
    async function visit(most: number): Promise<void> {
      const client = new AbortController();
      const last = seen.at(-1)?.id;
      const headers = last === undefined ? {} : {'last-event-id': last};
      const reading = messagesOf(await fetch(loopback.url, {headers, signal: client.signal}));
      for (let count = 0; count < most; count++) {
        const {done, value} = await reading.next();
        if (done) return;
        seen.push(value);
      }
      client.abort();
    }
    await visit(1);
    await visit(2);
    gate.resolve();
    await visit(1);
    await visit(Infinity);
    expect((await feed.settled).kind).toBe('done');
    const stored = (await it.validEvents()).slice(1).map(({id}) => id);
    expect(whole(seen)).toEqual(stored);
    expect(loopback.requests.map(({signal}) => getEventListeners(signal, 'abort').length)).toEqual([0, 0, 0, 0]);
  });

  test('gets the rest of a reply that is still coming, and the whole one instead of pieces that are over', async () => {
    const gate = Promise.withResolvers<void>();
    const feed = new RunFeed(
      scriptedRun(async function* () {
        yield piece('e', 'a');
        yield piece('e', 'b');
        await gate.promise;
        yield piece('e', 'c');
        yield said('e', 'abc');
      }),
    );
    const first = (await read(feed, {}, 1)).messages;
    const rest = read(feed, {after: first[0]?.id}, 2);
    gate.resolve();
    expect(eventsOf((await rest).messages).map(({content}) => content?.parts)).toEqual([[{text: 'b'}], [{text: 'c'}]]);
    await feed.settled;
    const late = eventsOf((await read(feed, {after: first[0]?.id})).messages);
    expect(late.map(({content, partial}) => [partial, content?.parts])).toEqual([[undefined, [{text: 'abc'}]]]);
  });

  test('gets no pieces of a reply of which it has missed some, but the whole one', async () => {
    const cut = Promise.withResolvers<void>();
    const gate = Promise.withResolvers<void>();
    const feed = new RunFeed(
      scriptedRun(async function* () {
        yield said('first');
        for (let n = 0; n < 10; n++) yield piece('e', 'x'.repeat(400));
        cut.resolve();
        await gate.promise;
        yield piece('e', 'the last piece');
        yield said('e', 'whole');
      }),
      {bufferBytes: 1_500},
    );
    const seen = (await read(feed, {}, 1)).messages;
    await cut.promise;
    const rest = read(feed, {after: seen[0]?.id});
    gate.resolve();
    expect((await rest).messages.map(({id}) => id)).toEqual(['e']);
  });
});

describe('an id that the feed does not know', () => {
  test('is gone: of another run, of an Event that is dropped, or never there', async () => {
    const other = new RunFeed(scriptedRun(() => [piece('e', 'a'), said('e')]));
    const foreign = (await read(other, {}, 1)).messages[0]?.id;
    const feed = new RunFeed(
      scriptedRun(() => [said('e1'), said('e2'), piece('e3', 'a')]),
      {bufferBytes: 1},
    );
    await read(feed, {}, 1);
    await feed.settled;
    for (const after of [foreign, 'nothing', ':end', ':9-', '', undefined]) {
      expect(() => feed.toResponse({after})).toThrow(EventGoneError);
    }
    expect(() => feed.toResponse({format: 'ui-message-stream'})).toThrow('The events from the beginning of the run are not kept');
    // The last one for which there was no room: nothing is missing behind it.
    expect((await read(feed, {after: 'e2'})).messages.map(({id}) => id)).toEqual([expect.stringMatching(/^e3:3-/)]);
  });

  test('is gone also where the Event of another run stood at a place that this one has', async () => {
    const other = new RunFeed(scriptedRun(() => [piece('e', 'a'), said('e')]));
    const foreign = (await read(other, {}, 1)).messages[0]?.id;
    const feed = new RunFeed(scriptedRun(() => [piece('e', 'a'), said('e')]));
    await read(feed, {});
    expect(() => feed.toResponse({after: foreign})).toThrow(EventGoneError);
  });

  test('a reader that fell behind holds up nothing', async () => {
    const feed = new RunFeed(
      scriptedRun(() => ['e1', 'e2', 'e3', 'e4', 'e5', 'e6', 'e7', 'e8'].map((id) => said(id))),
      {bufferBytes: 1},
    );
    const slow = feed.toResponse().body?.getReader();
    await slow?.read();
    await read(feed, {after: 'e1'}, 3);
    expect(feed.ended).toBe(false);
    expect(new TextDecoder().decode((await slow?.read())?.value)).toContain('"code":"EVENT_GONE"');
    expect((await feed.settled).kind).toBe('done');
  });

  test('a reader that falls behind one that is faster is told so', async () => {
    const feed = new RunFeed(
      scriptedRun(() => [said('e1'), said('e2'), said('e3')]),
      {bufferBytes: 1},
    );
    const slow = feed.toResponse({format: 'ndjson'}).body?.getReader();
    await slow?.read();
    await read(feed, {after: 'e1'});
    const rest = await slow?.read();
    expect(new TextDecoder().decode(rest?.value)).toContain('"code":"EVENT_GONE"');
    expect((await slow?.read())?.done).toBe(true);
  });
});

describe('the pace of a run', () => {
  /** A run of which it is known how far it has got. */
  function counted(total: number): {feed: RunFeed; made: () => number} {
    let made = 0;
    const run = scriptedRun(function* () {
      while (made < total) yield said(`e${++made}`);
    });
    return {feed: new RunFeed(run), made: () => made};
  }

  test('is cold before somebody reads, at the demand of readers, and free when all have left', async () => {
    const {feed, made} = counted(50);
    const first = feed.toResponse().body?.getReader();
    const second = feed.toResponse().body?.getReader();
    expect(made()).toBe(0);
    await first?.read();
    expect(made()).toBe(1);
    await second?.read();
    expect(made()).toBe(1);
    await second?.read();
    expect(made()).toBe(2);
    await second?.cancel();
    expect(feed.ended).toBe(false);
    expect(made()).toBe(2);
    await first?.cancel();
    expect((await feed.settled).kind).toBe('done');
    expect(made()).toBe(50);
  });

  test('two that read along both see all of it', async () => {
    const {feed} = counted(20);
    const both = await Promise.all([read(feed, {}), read(feed, {format: 'ndjson'})]);
    for (const {messages} of both) expect(whole(messages)).toHaveLength(20);
  });
});

describe('the end', () => {
  test('is 204 for whoever has seen all, also of a failure', async () => {
    const feed = new RunFeed(scriptedRun(() => [said('e1')]));
    await read(feed, {});
    expect(feed.ended).toBe(true);
    expect(feed.toResponse({after: 'e1'}).status).toBe(204);
    expect(feed.toResponse().status).toBe(200);

    const failed = new RunFeed(
      scriptedRun(function* () {
        yield said('e1');
        throw new ModelError('Down', {code: 'UNAVAILABLE'});
      }),
      {onError: () => {}},
    );
    const {messages} = await read(failed, {});
    expect(messages.at(-1)?.data).toBe('{"error":"The model is not available at the moment","code":"UNAVAILABLE"}');
    expect((await read(failed, {after: 'e1'})).messages).toEqual(messages.slice(1));
    expect(failed.toResponse({after: messages.at(-1)?.id}).status).toBe(204);
  });

  test('is kept for keepMs, and then told once; no timer is left', async () => {
    vi.useFakeTimers();
    try {
      const onExpire = vi.fn<() => void>();
      const feed = new RunFeed(
        scriptedRun(() => [said('e1')]),
        {keepMs: 1_000, onExpire},
      );
      await read(feed, {});
      await vi.advanceTimersByTimeAsync(999);
      expect((await read(feed, {})).messages).toHaveLength(1);
      expect(onExpire).not.toHaveBeenCalled();
      await vi.advanceTimersByTimeAsync(1);
      expect(onExpire).toHaveBeenCalledOnce();
      expect(() => feed.toResponse()).toThrow(EventGoneError);
      expect(() => feed.toResponse({after: 'e1'})).toThrow(EventGoneError);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });

  test('a client that still reads when keepMs have passed gets the rest', async () => {
    vi.useFakeTimers();
    try {
      const onExpire = vi.fn<() => void>();
      const feed = new RunFeed(
        scriptedRun(() => [said('e1'), said('e2')]),
        {keepMs: 1_000, onExpire},
      );
      await read(feed, {});
      const slow = messagesOf(feed.toResponse());
      expect((await slow.next()).value).toMatchObject({id: 'e1'});
      const late = feed.toResponse({format: 'ndjson'}).body?.getReader();
      await vi.advanceTimersByTimeAsync(5_000);
      expect((await slow.next()).value).toMatchObject({id: 'e2'});
      expect((await slow.next()).done).toBe(true);
      expect(onExpire).not.toHaveBeenCalled();
      await late?.cancel();
      expect(onExpire).toHaveBeenCalledOnce();
    } finally {
      vi.useRealTimers();
    }
  });

  test('stop() tells the readers, also where nobody reads', async () => {
    const never = (): Promise<never> => new Promise<never>(() => {});
    const script = async function* (): AsyncGenerator<CreateEventParams> {
      yield said('e1');
      await never();
    };
    const feed = new RunFeed(scriptedRun(script));
    const reading = messagesOf(feed.toResponse());
    await reading.next();
    const last = reading.next();
    expect(await feed.stop()).toMatchObject({kind: 'abort', reason: expect.any(RunCancelledError)});
    expect((await last).value).toMatchObject({data: '{"error":"The run was cancelled","code":"RUN_CANCELLED"}'});
    expect((await feed.stop()).kind).toBe('abort');

    const unread = new RunFeed(scriptedRun(script));
    expect((await unread.stop('enough')).kind).toBe('abort');
    expect((await read(unread, {format: 'ndjson'})).messages.map(({data}) => data)).toEqual([
      '{"error":"The run was cancelled","code":"RUN_CANCELLED"}',
    ]);
  });
});

describe('start()', () => {
  test('rejects with what ended the run before its first Event', async () => {
    const {runner} = await stage([]);
    const feed = new RunFeed(runner.runAsync({userId: 'u', sessionId: 'unknown', newMessage: hello}));
    await expect(feed.start()).rejects.toThrow(SessionNotFoundError);
    expect(feed.ended).toBe(true);
  });

  test('waits for the first Event, no longer than it may, and loses nothing', async () => {
    const gate = Promise.withResolvers<void>();
    const feed = new RunFeed(
      scriptedRun(async function* () {
        await gate.promise;
        yield said('e1');
        yield said('e2');
      }),
    );
    await feed.start(2);
    gate.resolve();
    await feed.start(Infinity);
    expect(whole((await read(feed, {})).messages)).toEqual(['e1', 'e2']);
  });
});

test('what cannot be used is refused at once', () => {
  const run = scriptedRun(() => []);
  expect(() => new RunFeed({} as typeof run)).toThrow('Expected `run` to be a Run');
  expect(() => new RunFeed(run, {bufferBytes: 0})).toThrow('bufferBytes');
  expect(() => new RunFeed(run, {keepMs: -1})).toThrow('keepMs');
  expect(() => new RunFeed(run).toResponse({after: 1 as unknown as string})).toThrow('after');
});
