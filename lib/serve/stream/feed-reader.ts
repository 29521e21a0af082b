import {SluiceError} from '../../errors.ts';
import {clientError} from './client-error.ts';
import {pieceKey, type FeedBuffer} from './feed-buffer.ts';
import type {RunSource, StreamedEvent, StreamEnd} from './run-source.ts';

/** The Events behind an id are not in the feed, or not any more. The client has to load the session. */
export class EventGoneError extends SluiceError {
  readonly code = 'EVENT_GONE';
  /** What the client had seen last; `undefined` where it asked for the run from its beginning. */
  readonly eventId: string | undefined;

  constructor(eventId?: string) {
    super(`The events ${eventId === undefined ? 'from the beginning of the run' : `after \`${eventId}\``} are not kept; load the session`);
    this.eventId = eventId;
  }
}

/** What a reader asks of its feed. */
export interface FeedPort {
  readonly buffer: FeedBuffer;
  /** How the run ended, once it has and no Event is to come. */
  end(): StreamEnd | undefined;
  /** Resolves when there is something new. */
  pull(): Promise<void>;
  detach(reader: FeedReader): void;
}

/** One client's place in a feed. */
export class FeedReader implements RunSource {
  readonly #feed: FeedPort;
  #sequence: number;
  /** Of which Events it has missed a piece: it waits for the whole ones. */
  readonly #missed = new Set<string>();

  /** @param sequence - the place behind which it begins */
  constructor(feed: FeedPort, sequence: number) {
    this.#feed = feed;
    this.#sequence = sequence;
  }

  async next(): Promise<StreamedEvent | StreamEnd> {
    for (;;) {
      const end = this.#endHere();
      if (end) {
        this.#feed.detach(this);
        return end;
      }
      const entry = this.#feed.buffer.after(this.#sequence);
      if (!entry) await this.#feed.pull();
      else if (this.#take(entry)) return entry;
    }
  }

  leave(): Promise<void> {
    this.#feed.detach(this);
    return Promise.resolve();
  }

  #endHere(): StreamEnd | undefined {
    const {buffer} = this.#feed;
    if (buffer.hasLost(this.#sequence)) return {failure: clientError(new EventGoneError())};
    return buffer.after(this.#sequence) ? undefined : this.#feed.end();
  }

  /** Goes on behind an Event; whether the client is to get it. */
  #take({event, sequence}: StreamedEvent): boolean {
    const before = this.#sequence;
    this.#sequence = sequence;
    if (!event.partial) return true;
    const key = pieceKey(event);
    if (this.#feed.buffer.cutAt(key) > before) this.#missed.add(key);
    return !this.#missed.has(key);
  }
}
