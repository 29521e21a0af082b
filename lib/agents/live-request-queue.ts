import type {Blob, Content} from '../content.ts';
import {expectOption, LiveRequestQueueError} from '../errors.ts';
import type {RealtimeInput} from '../models/base-llm-connection.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkedCopy} from '../schema/json-copy.ts';
import {checkOptions, isPositiveMs, optional} from '../schema/options.ts';
import {checkUserParts} from './user-parts.ts';

/** One thing that a user sends to a live run. */
export interface LiveRequest {
  /** A turn of the user, or the answers to calls that wait. */
  readonly content?: Content | undefined;
  /** Sound, a picture or text, as it happens. */
  readonly realtimeInput?: RealtimeInput | undefined;
}

/** How much a `LiveRequestQueue` holds. */
export interface LiveRequestQueueOptions {
  /** From how much on a send asks its caller to wait, in characters of what was sent. Default 1 MiB. */
  readonly highWaterMark?: number | undefined;
  /** How much it takes at most, from callers who do not wait. Default 16 MiB; `Infinity`: without bound. */
  readonly maxSize?: number | undefined;
}

/**
 * What a user says to a live run, in order. It is filled from anywhere, before the run starts or while it goes on, and read by one run.
 *
 * A send throws where it cannot be kept, at once and not later. The promise that it returns never rejects: it resolves when there is room
 * for more, so that a caller who awaits it never runs ahead of the connection by more than `highWaterMark`. When the run ends, in whatever
 * way, the queue is closed.
 *
 * @example
 * ```ts
 * import {LiveRequestQueue} from 'sluice';
 *
 * async function speak(microphone: AsyncIterable<string>, queue: LiveRequestQueue): Promise<void> {
 *   for await (const data of microphone) await queue.sendRealtime({mimeType: 'audio/pcm;rate=16000', data});
 *   queue.close();
 * }
 * ```
 */
export class LiveRequestQueue implements AsyncIterable<LiveRequest> {
  readonly #highWaterMark: number;
  readonly #maxSize: number;
  readonly #requests: LiveRequest[] = [];
  readonly #waiting: (() => void)[] = [];
  #size = 0;
  #closed = false;
  #isRead = false;
  #taker: (() => void) | undefined;

  /** @throws {@link InvalidOptionError} for an unknown option or a value that cannot be used */
  constructor(options: LiveRequestQueueOptions = {}) {
    const isSize = optional({...isPositiveMs, expected: 'a number above 0, or Infinity'});
    checkOptions('liveRequestQueue', options, {highWaterMark: isSize, maxSize: isSize});
    this.#highWaterMark = options.highWaterMark ?? 1024 * 1024;
    this.#maxSize = options.maxSize ?? 16 * 1024 * 1024;
  }

  /** Whether it takes nothing more. */
  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Says something as a whole turn, to which the model replies. While the model waits for a tool it is held back until the tool has
   * answered. With `functionResponse` parts it answers calls that wait.
   *
   * @throws {@link InvalidOptionError} for a content that no user could say, and for an empty one
   * @throws {@link LiveRequestQueueError} where the queue is closed or full
   */
  sendContent(content: Content): Promise<void> {
    const {role, parts} = (content as Content | undefined) ?? {};
    const fits = Array.isArray(parts) && parts.length > 0;
    expectOption(fits, 'content', 'a content, {role: "user", parts: [...]}, with at least one part', content);
    expectOption(role === undefined || role === 'user', 'content.role', '"user"', role);
    checkUserParts(parts, 'content.parts');
    return this.#push({content: checkedCopy(content, 'content')});
  }

  /**
   * Streams sound or a picture as it happens, `data` in base64; or one of the other realtime inputs, such as `{text}`.
   *
   * @throws {@link InvalidOptionError} for anything else
   * @throws {@link LiveRequestQueueError} where the queue is closed or full
   */
  sendRealtime(input: Blob | RealtimeInput): Promise<void> {
    return this.#push({realtimeInput: checkedCopy(toRealtimeInput(input), 'input')});
  }

  /** The user begins to speak; for a run whose `realtimeInputConfig` turns the model's own detection off. Throws as `sendRealtime`. */
  sendActivityStart(): Promise<void> {
    return this.#push({realtimeInput: {activityStart: {}}});
  }

  /** The user has finished speaking. Throws as `sendRealtime`. */
  sendActivityEnd(): Promise<void> {
    return this.#push({realtimeInput: {activityEnd: {}}});
  }

  /** Nothing more will be sent. The run sends what is there, waits for the end of the turn, and is done. Idempotent. */
  close(): void {
    this.#closed = true;
    this.#taker?.();
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** @internal Closes it where no run reads it; the one that does closes it with its own end. */
  discard(): void {
    if (!this.#isRead) this.close();
  }

  /** What was sent, in order, until the queue is closed. Leaving it closes the queue and drops what is left in it. Only for one reader. */
  async *[Symbol.asyncIterator](): AsyncGenerator<LiveRequest, void, undefined> {
    expectOption(!this.#isRead, 'liveRequestQueue', 'a queue of its own for each run', this);
    this.#isRead = true;
    try {
      for (;;) {
        const request = this.#requests.shift();
        if (request) {
          this.#size -= sizeOf(request);
          if (this.#size <= this.#highWaterMark) for (const resolve of this.#waiting.splice(0)) resolve();
          yield request;
        } else if (this.#closed) return;
        else await new Promise<void>((resolve) => (this.#taker = resolve));
      }
    } finally {
      this.#requests.length = 0;
      this.close();
    }
  }

  #push(request: LiveRequest): Promise<void> {
    if (this.#closed) throw new LiveRequestQueueError('LIVE_QUEUE_CLOSED', 'The queue is closed: it was told to, or its run has ended');
    const size = this.#size + sizeOf(request);
    if (size > this.#maxSize) {
      const message = `The queue holds ${this.#size} characters and takes no more than ${this.#maxSize}: await what a send returns`;
      throw new LiveRequestQueueError('LIVE_QUEUE_FULL', message);
    }
    this.#size = size;
    this.#requests.push(request);
    this.#taker?.();
    return size <= this.#highWaterMark ? Promise.resolve() : new Promise((resolve) => this.#waiting.push(resolve));
  }
}

/** Some clients write it in the alphabet of URLs. */
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/;

const REALTIME = ['audio', 'video', 'text', 'activityStart', 'activityEnd', 'audioStreamEnd'];

function toRealtimeInput(input: Blob | RealtimeInput): RealtimeInput {
  const expected = `a blob, {mimeType, data} with data in base64, or an object with one of ${REALTIME.join(', ')}`;
  expectOption(typeof input === 'object' && input !== null, 'input', expected, input);
  if ('mimeType' in input || 'data' in input) {
    expectBlob(input, 'input');
    return input.mimeType?.startsWith('audio/') ? {audio: input} : {video: input};
  }
  const [[key, value] = ['', undefined], ...more] = Object.entries(input).filter(([, it]) => it !== undefined);
  expectOption(REALTIME.includes(key) && more.length === 0, 'input', expected, input);
  if (key === 'audio' || key === 'video') expectBlob(value, `input.${key}`);
  else if (key === 'text') expectOption(typeof value === 'string' && value !== '', 'input.text', 'a non-empty string', value);
  else if (key === 'audioStreamEnd') expectOption(value === true, 'input.audioStreamEnd', 'true', value);
  else expectOption(isRecord(value) && Object.keys(value).length === 0, `input.${key}`, 'an empty object', value);
  return input as RealtimeInput;
}

function expectBlob(blob: unknown, option: string): asserts blob is Blob {
  const {mimeType, data} = (blob as Blob | undefined) ?? {};
  expectOption(typeof data === 'string' && BASE64.test(data), `${option}.data`, 'bytes in base64', data);
  const isMedia = typeof mimeType === 'string' && /^(audio|image|video)\//.test(mimeType);
  expectOption(isMedia, `${option}.mimeType`, 'audio/..., image/... or video/...', mimeType);
}

function sizeOf({content, realtimeInput}: LiveRequest): number {
  const blob = realtimeInput?.audio ?? realtimeInput?.video;
  return blob?.data?.length ?? JSON.stringify(content ?? realtimeInput).length;
}
