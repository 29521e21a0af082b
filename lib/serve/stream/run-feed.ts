import {Timers} from '../../async/timers.ts';
import {within} from '../../async/within.ts';
import {expectOption, RunCancelledError} from '../../errors.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import {Run} from '../../runner/run.ts';
import {anyOf, checkOptions, isFunction, isMs, isOneOf, isString, isWholeNumber, optional, type OptionSpec} from '../../schema/options.ts';
import {FeedBuffer} from './feed-buffer.ts';
import {EventGoneError, FeedReader, type FeedPort} from './feed-reader.ts';
import {isEvent, RunReader, type StreamEnd} from './run-source.ts';
import {endId} from './stream-encoder.ts';
import {encoderFor} from './stream-format.ts';
import {StreamResponse} from './stream-response.ts';
import {DEFAULT_HEARTBEAT_MS, DEFAULT_START_MS, streamOptions, type StreamOptions} from './to-response.ts';

/** What a feed is made of. */
export interface RunFeedOptions {
  /** How many Events are kept for clients that come back, in bytes of JSON. Default 4 MiB. It bounds the memory, not the run. */
  readonly bufferBytes?: number | undefined;
  /** How long after the run's end clients may still come back, in milliseconds. Default 60,000. It does not keep the process alive. */
  readonly keepMs?: number | undefined;
  /** Called once when `keepMs` have passed: nothing is left to be served. */
  readonly onExpire?: (() => void) | undefined;
  /** As for `toResponse`. */
  readonly onError?: ((error: unknown) => void) | undefined;
}

/** How a client attaches to a feed. */
export interface FeedResponseOptions extends StreamOptions {
  /**
   * The last that the client has seen: the id of a whole Event, or the `id:` of a server-sent event, which a browser sends as
   * `Last-Event-ID`. Default: nothing, so that the response begins with the run. A UI message stream always does, since that is how
   * `useChat` resumes a response.
   */
  readonly after?: string | undefined;
}

const OPTIONS: OptionSpec<RunFeedOptions> = {
  bufferBytes: optional(anyOf(isWholeNumber({min: 1}), isOneOf([Infinity]))),
  keepMs: optional(isMs),
  onExpire: optional(isFunction),
  onError: optional(isFunction),
};
const RESPONSE_OPTIONS: OptionSpec<FeedResponseOptions> = {...streamOptions, after: optional(isString)};

/**
 * A run that outlives its clients. They leave, attach again by the id of what they saw last, and miss nothing: every whole Event, and of one
 * that is still coming the pieces behind that id. Pieces whose whole Event has come are not sent to those who were away.
 *
 * Several clients read along. As long as there are any, the run is pulled at the demand of the fastest; one that falls behind by more than
 * `bufferBytes` is told so by its last message. With the last of them gone, the run goes on to its end. It is cold before the first.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {RunFeed} from 'sluice/serve';
 *
 * const runner = new InMemoryRunner({agent: new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'}), autoCreateSession: true});
 * const feeds = new Map<string, RunFeed>();
 *
 * export async function POST(request: Request): Promise<Response> {
 *   const newMessage = {role: 'user', parts: [{text: await request.text()}]};
 *   const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage});
 *   const feed = new RunFeed(run, {onExpire: () => feeds.delete(run.invocationId)});
 *   feeds.set(run.invocationId, feed);
 *   return feed.toResponse({request});
 * }
 *
 * export function GET(request: Request): Response {
 *   const feed = feeds.get(new URL(request.url).searchParams.get('run') ?? '');
 *   if (!feed) return new Response(null, {status: 404});
 *   return feed.toResponse({request, after: request.headers.get('last-event-id') ?? undefined});
 * }
 * ```
 */
export class RunFeed {
  readonly run: Run;
  readonly #source: RunReader;
  readonly #buffer: FeedBuffer;
  readonly #readers = new Set<FeedReader>();
  readonly #port: FeedPort;
  readonly #timers = new Timers();
  readonly #keepMs: number;
  readonly #onExpire: (() => void) | undefined;
  #end: StreamEnd | undefined;
  #expiresAt = Infinity;
  #expired = false;
  #pulling: Promise<void> | undefined;
  #runsOn = false;

  /** @throws {@link InvalidOptionError} for an option that cannot be used */
  constructor(run: Run, options: RunFeedOptions = {}) {
    expectOption(run instanceof Run, 'run', 'a Run, as `runner.runAsync` gives it', run);
    checkOptions('RunFeed options', options, OPTIONS);
    const {bufferBytes = 4_194_304, keepMs = 60_000, onExpire, onError} = options;
    this.run = run;
    this.#source = new RunReader(run, {onDisconnect: 'continue', onError});
    this.#buffer = new FeedBuffer(bufferBytes, run.invocationId);
    this.#port = {
      buffer: this.#buffer,
      end: () => this.#end,
      pull: () => this.#pull(),
      detach: (reader) => this.#detach(reader),
    };
    this.#keepMs = keepMs;
    this.#onExpire = onExpire;
  }

  /** How the run ended: what a host should be kept awake for. Never rejects. */
  get settled(): Promise<RunOutcome> {
    return this.run.settled;
  }

  /** Whether the run is over. Clients may still come for what they have missed. */
  get ended(): boolean {
    return this.#end !== undefined;
  }

  /**
   * Starts the run and waits for its first Event, but no longer than `startMs`, in milliseconds.
   *
   * @throws whatever ended the run before its first Event
   */
  async start(startMs: number = DEFAULT_START_MS): Promise<void> {
    await within(this.#pull(), (callback) => this.#timers.set(startMs, callback));
    const outcome = this.#end?.outcome;
    if (outcome && 'reason' in outcome && !this.#buffer.after(0)) throw outcome.reason;
  }

  /**
   * Attaches a client. A run that is over, and of which it has seen all, is status 204, at which an `EventSource` stops coming back.
   *
   * @throws {@link EventGoneError} where the feed cannot tell that nothing would be missed: answer 410, and the client loads the session
   * @throws {@link InvalidOptionError} for an option that cannot be used
   */
  toResponse(options: FeedResponseOptions = {}): Response {
    checkOptions('toResponse options', options, RESPONSE_OPTIONS);
    const {format = 'sse', heartbeatMs = DEFAULT_HEARTBEAT_MS, request, signal, messageId} = options;
    const after = format === 'ui-message-stream' ? undefined : options.after;
    if (this.#expiresAt <= Date.now()) this.#expire();
    const sequence = after === undefined ? 0 : this.#buffer.find(after);
    if (this.#expired || sequence === undefined || this.#buffer.hasLost(sequence)) throw new EventGoneError(after);
    if (after !== undefined && this.#hasAll(sequence, after)) {
      return new Response(null, {status: 204, headers: {'cache-control': 'no-store'}});
    }
    const reader = new FeedReader(this.#port, sequence);
    this.#readers.add(reader);
    const encoder = encoderFor(format, {invocationId: this.run.invocationId, messageId, canResume: true});
    return new StreamResponse(reader, encoder, {heartbeatMs, request, signal}).open();
  }

  /** Stops the run; the clients are told the reason by their last message. Resolves once it has ended, and never rejects. */
  async stop(reason: unknown = new RunCancelledError()): Promise<RunOutcome> {
    await this.run.throw(reason).catch(() => {});
    while (!this.#end) await this.#pull();
    return this.settled;
  }

  #hasAll(sequence: number, after: string): boolean {
    return this.#end !== undefined && !this.#buffer.after(sequence) && (!this.#end.failure || after === endId(this.run.invocationId));
  }

  /** Takes what comes next. Whoever asks meanwhile waits for the same. */
  #pull(): Promise<void> {
    return (this.#pulling ??= this.#take().finally(() => (this.#pulling = undefined)));
  }

  async #take(): Promise<void> {
    if (this.#end) return;
    const step = await this.#source.next();
    if (isEvent(step)) this.#buffer.add(step);
    else {
      this.#end = step;
      this.#expiresAt = Date.now() + this.#keepMs;
      this.#timers.set(this.#keepMs, () => this.#expire());
    }
  }

  #detach(reader: FeedReader): void {
    this.#readers.delete(reader);
    if (this.#expiresAt <= Date.now()) this.#expire();
    void this.#runOn();
  }

  async #runOn(): Promise<void> {
    if (this.#runsOn) return;
    this.#runsOn = true;
    while (this.#readers.size === 0 && !this.#end) await this.#pull();
    this.#runsOn = false;
  }

  #expire(): void {
    // Whoever still reads what there is may do so to the end.
    if (this.#expired || this.#readers.size > 0) return;
    this.#expired = true;
    this.#timers.clear();
    this.#buffer.clear();
    this.#onExpire?.();
  }
}
