import {Timers} from '../../async/timers.ts';
import {within} from '../../async/within.ts';
import {isEvent, type RunSource, type StreamedEvent, type StreamEnd} from './run-source.ts';
import type {StreamEncoder} from './stream-encoder.ts';

export interface StreamResponseOptions {
  readonly heartbeatMs: number;
  readonly request: Request | undefined;
  readonly signal: AbortSignal | undefined;
}

// A proxy that compresses or buffers would hold Events back.
const HEADERS = {'cache-control': 'no-store, no-transform', 'x-accel-buffering': 'no'};

/** A source as a response. The client's demand pulls each Event; that the client has left is told by the body or by a signal, once. */
export class StreamResponse {
  readonly #source: RunSource;
  readonly #encoder: StreamEncoder;
  readonly #heartbeatMs: number;
  readonly #timers = new Timers();
  readonly #text = new TextEncoder();
  /** Who tells that the client has left. The Request too is held until the end: it passes its signal on only while it is alive. */
  #client: {readonly request: Request | undefined; readonly signals: readonly AbortSignal[]};
  #controller: ReadableStreamDefaultController<Uint8Array> | undefined;
  #pending: Promise<StreamedEvent | StreamEnd> | undefined;
  #over = false;

  constructor(source: RunSource, encoder: StreamEncoder, {heartbeatMs, request, signal}: StreamResponseOptions) {
    this.#source = source;
    this.#encoder = encoder;
    this.#heartbeatMs = heartbeatMs;
    this.#client = {request, signals: [request?.signal, signal].filter((it) => it !== undefined)};
  }

  /** Makes the response. From here on the client may leave. */
  open(): Response {
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => this.#pull(),
        cancel: async () => {
          this.close();
          await this.#source.leave();
        },
      },
      // Nothing runs ahead of the client.
      {highWaterMark: 0},
    );
    for (const signal of this.#client.signals) signal.addEventListener('abort', this.#onAbort, {once: true});
    if (this.#client.signals.some(({aborted}) => aborted)) this.#onAbort();
    return new Response(body, {headers: {...HEADERS, ...this.#encoder.headers}});
  }

  /** Lets go of everything that it holds; nothing more is written. */
  close(): void {
    this.#over = true;
    for (const signal of this.#client.signals) signal.removeEventListener('abort', this.#onAbort);
    this.#client = {request: undefined, signals: []};
    this.#timers.clear();
  }

  readonly #onAbort = (): void => {
    if (this.#over) return;
    this.close();
    this.#controller?.close();
    void this.#source.leave();
  };

  /** Writes once. It may be a heartbeat: then the Event that is waited for is the next pull's, so that heartbeats keep to the demand too. */
  async #pull(): Promise<void> {
    for (let wrote = false; !wrote && !this.#over;) {
      const pending = (this.#pending ??= this.#source.next());
      const came = await within(pending, (callback) => this.#timers.set(this.#heartbeatMs, callback));
      const step = came ? await pending : undefined;
      if (this.#over) return;
      wrote = step ? this.#write(step) : this.#send(this.#encoder.heartbeat);
    }
  }

  #write(step: StreamedEvent | StreamEnd): boolean {
    this.#pending = undefined;
    if (isEvent(step)) return this.#send(this.#encoder.event(step));
    this.#send(this.#encoder.end(step));
    this.close();
    this.#controller?.close();
    return true;
  }

  #send(text: string): boolean {
    if (text !== '') this.#controller?.enqueue(this.#text.encode(text));
    return text !== '';
  }
}
