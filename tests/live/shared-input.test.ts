import {describe, expect, test} from 'vitest';
import {InvalidOptionError, LiveRequestQueue, LiveRequestQueueError} from 'sluice';
import {Lifetime} from '../../lib/async/lifetime.ts';
import {LiveInput} from '../../lib/live/live-input.ts';
import {SharedInput} from '../../lib/live/shared-input.ts';
import type {RealtimeInput} from '../../lib/models/base-llm-connection.ts';
import {idle} from '../stories/kit.ts';

/** Somebody who hears what the user says, and may take time for it or hear nothing. */
class Ear {
  readonly heard: string[] = [];
  readonly input: LiveInput;
  hear: (what: string) => Promise<void> = async () => {};

  constructor(shared: SharedInput) {
    const note = async (what: string): Promise<void> => {
      await this.hear(what);
      this.heard.push(what);
    };
    const voice = {
      say: ({parts = []}: {parts?: {text?: string}[]}) => note(parts[0]?.text ?? ''),
      stream: (input: RealtimeInput) => note(input.audio?.data ?? Object.keys(input).join()),
    };
    this.input = new LiveInput({input: shared, mustHold: () => false, voice});
  }
}

const say = (queue: LiveRequestQueue, text: string): void => void queue.sendContent({parts: [{text}]});
const hum = (queue: LiveRequestQueue, data: string): void => void queue.sendRealtime({mimeType: 'audio/pcm', data});

describe('what the user sends, when who hears it leaves', () => {
  test('after so many promise jobs, is heard once, in order, by one or the next', async () => {
    const all = ['one', 'AAAA', 'two', 'BBBB', 'three'];
    for (let jobs = 0; jobs < 40; jobs++) {
      const queue = new LiveRequestQueue();
      const shared = new SharedInput(queue, new Lifetime());
      const [first, second] = [new Ear(shared), new Ear(shared)];
      const late: string[] = [];
      let hasLeft = false;
      first.hear = async (what) => void (hasLeft && late.push(what));
      const running = first.input.run();
      for (const what of all) (what === what.toUpperCase() ? hum : say)(queue, what);
      for (let job = 0; job < jobs; job++) await Promise.resolve();
      hasLeft = true;
      first.input.leave();
      await running;
      first.input.giveBack();
      queue.close();
      await second.input.run();
      expect(late).toEqual([]);
      expect([jobs, ...first.heard, ...second.heard.filter((what) => what !== 'audioStreamEnd')]).toEqual([jobs, ...all]);
    }
  });

  test('while a turn is being said, leaves those behind it to the next', async () => {
    const queue = new LiveRequestQueue();
    const shared = new SharedInput(queue, new Lifetime());
    let holds = true;
    const said: string[] = [];
    const {promise: ended, resolve: end} = Promise.withResolvers<void>();
    const voice = {
      say: async ({parts = []}: {parts?: {text?: string}[]}): Promise<void> => {
        said.push(parts[0]?.text ?? '');
        await ended;
      },
      stream: async (): Promise<void> => {},
    };
    const input = new LiveInput({input: shared, mustHold: () => holds, voice});
    const running = input.run();
    for (const what of ['one', 'two', 'three']) say(queue, what);
    await idle();
    holds = false;
    const released = input.release();
    input.leave();
    end();
    await Promise.all([released, running]);
    input.giveBack();
    const second = new Ear(shared);
    queue.close();
    await second.input.run();
    expect([said, second.heard]).toEqual([['one'], ['two', 'three']]);
  });

  test('and could not pass something on is passed on by the next, but for text, which is stored', async () => {
    for (const input of [{audio: {mimeType: 'audio/pcm', data: 'AAAA'}}, {text: 'typed'}]) {
      const queue = new LiveRequestQueue();
      const shared = new SharedInput(queue, new Lifetime());
      const [first, second] = [new Ear(shared), new Ear(shared)];
      first.hear = () => Promise.reject(new RangeError('gone'));
      void queue.sendRealtime(input);
      await expect(first.input.run()).rejects.toThrow('gone');
      first.input.leave();
      first.input.giveBack();
      queue.close();
      await second.input.run();
      expect(second.heard).toEqual('audio' in input ? ['AAAA', 'audioStreamEnd'] : []);
    }
  });
});

describe('a word of which the user himself tells where it begins and ends, when who hears it leaves', () => {
  test.each([
    ['before it began', 'activityStart', ['activityStart', 'AAAA', 'activityEnd']],
    ['in the middle', 'AAAA', ['activityStart', 'AAAA', 'activityEnd']],
    ['before it ended', 'activityEnd', ['activityStart', 'activityEnd']],
  ])('%s, begins once for the next', async (_when, last, heard) => {
    const queue = new LiveRequestQueue();
    const shared = new SharedInput(queue, new Lifetime());
    const [first, second] = [new Ear(shared), new Ear(shared)];
    first.hear = async (what) => {
      if (what === last) throw new RangeError('gone');
    };
    void queue.sendActivityStart();
    hum(queue, 'AAAA');
    void queue.sendActivityEnd();
    await expect(first.input.run()).rejects.toThrow('gone');
    first.input.leave();
    first.input.giveBack();
    queue.close();
    await second.input.run();
    expect(second.heard).toEqual(heard);
  });
});

describe('a queue that is read for a run', () => {
  test('is closed with the run, and drops what is left in it', async () => {
    const queue = new LiveRequestQueue({highWaterMark: 1});
    const life = new Lifetime();
    const shared = new SharedInput(queue, life);
    const next = shared.next();
    say(queue, 'one');
    expect((await next)?.content?.parts).toEqual([{text: 'one'}]);
    const waits = queue.sendContent({parts: [{text: 'two'}]});
    life.end(new Error('over'));
    await waits;
    expect(queue.closed).toBe(true);
    expect(() => say(queue, 'three')).toThrow(LiveRequestQueueError);
    expect(await shared.next()).toBeUndefined();
  });

  test('must be a queue', () => {
    expect(() => new SharedInput({close: 1} as never, new Lifetime())).toThrow(InvalidOptionError);
  });
});
