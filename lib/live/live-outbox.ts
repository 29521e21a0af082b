import {LiveOverflowError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {LiveRecorder} from './live-recorder.ts';

export interface LiveOutboxOptions {
  /** How much may wait for the reader. */
  readonly maxBytes: number;
  /** Stores a whole Event; what it resolves to is what the reader gets. */
  readonly store: (event: Event) => Promise<Event>;
  /** Keeps the sound, if it is to be kept. */
  readonly recorder: LiveRecorder | undefined;
  /** Told once when too much waits, or when the store fails. */
  readonly onFailure: (error: unknown) => void;
}

interface Entry {
  event: Event;
  readonly bytes: number;
  /** Whether it may be read: a whole Event only when it is stored. */
  ready: boolean;
}

/**
 * The Events of a live run between its connection and its reader: in order, each whole one stored before it can be read, and never more
 * than so many bytes of them. The store and the reader may both be slow; neither holds up the connection.
 */
export class LiveOutbox {
  readonly #options: LiveOutboxOptions;
  #entries: Entry[] = [];
  #bytes = 0;
  #storing: Promise<void> = Promise.resolve();
  #taker: (() => void) | undefined;
  #closed = false;
  #lastId: string | undefined;

  constructor(options: LiveOutboxOptions) {
    this.#options = options;
  }

  /** The last whole Event that was added, stored by now or not. */
  get lastId(): string | undefined {
    return this.#lastId;
  }

  /** Adds an Event; resolves once it is stored, a partial one at once. Never rejects: a store that fails ends the run. */
  put(event: Event): Promise<void> {
    const saved = this.#options.recorder?.note(event);
    const entry: Entry = {event, bytes: sizeOf(event), ready: event.partial === true};
    if (!this.#closed) this.#show(entry);
    if (entry.ready) return Promise.resolve();
    this.#lastId = event.id;
    // Also where nobody reads it any more: what was said is in no other Event.
    return (this.#storing = this.#storing.then(() => this.#store(entry, saved)));
  }

  /** Stores an Event that the reader has no use for, in its turn. */
  keep(event: Event): Promise<void> {
    this.#lastId = event.id;
    return (this.#storing = this.#storing.then(() => this.#store({event, bytes: 0, ready: false})));
  }

  /** The next Event, when there is one; nothing once it is closed and read. One taker at a time. */
  take(): Promise<Event | undefined> {
    return new Promise((resolve) => {
      const take = (): void => {
        const [first] = this.#entries;
        if (first && !first.ready) return;
        if (!first && !this.#closed) return;
        this.#taker = undefined;
        if (first) this.#bytes -= first.bytes;
        resolve(this.#entries.shift()?.event);
      };
      this.#taker = take;
      take();
    });
  }

  /** Drops the sound of the current turn that was not read yet: the user has cut the model off. */
  dropAudio(): void {
    const start = this.#entries.findLastIndex(({event}) => event.turnComplete === true) + 1;
    this.#entries = this.#entries.flatMap((entry, at) => {
      const event = at < start ? entry.event : withoutSound(entry.event);
      if (event === entry.event) return entry;
      const bytes = event ? sizeOf(event) : 0;
      this.#bytes += bytes - entry.bytes;
      return event ? {...entry, event, bytes} : [];
    });
  }

  /** Nothing more comes: what is there can still be read. */
  close(): void {
    this.#closed = true;
    this.#taker?.();
  }

  /** Nothing more is read either. What is on its way to the store still gets there. */
  discard(): void {
    this.#entries = [];
    this.#bytes = 0;
    this.close();
  }

  /** Resolves when everything that was added is stored, or the store has failed. */
  stored(): Promise<void> {
    return this.#storing;
  }

  #show(entry: Entry): void {
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    if (this.#bytes > this.#options.maxBytes) this.#options.onFailure(new LiveOverflowError(this.#options.maxBytes));
    if (entry.ready) this.#taker?.();
  }

  async #store(entry: Entry, saved?: () => Promise<void>): Promise<void> {
    try {
      await saved?.();
      entry.event = await this.#options.store(entry.event);
      entry.ready = true;
    } catch (error) {
      // It must not keep the reader from what follows: the failure.
      this.#entries = this.#entries.filter((it) => it !== entry);
      this.#options.onFailure(error);
    }
    this.#taker?.();
  }
}

/** An Event without the sound that it brings, which is worth nothing once the user has interrupted it; nothing where that is all. */
export function withoutSound(event: Event): Event | undefined {
  const {partial, content} = event;
  const parts = content?.parts ?? [];
  const others = parts.filter(({inlineData}) => !inlineData?.mimeType?.startsWith('audio/'));
  if (!partial || others.length === parts.length) return event;
  return others.length > 0 ? {...event, content: {...content, parts: others}} : undefined;
}

/** What an Event takes, near enough: its long texts, and a little for the rest. */
function sizeOf(event: Event): number {
  let size = 256;
  for (const {text, inlineData, ...other} of event.content?.parts ?? []) {
    size += (text?.length ?? 0) + (inlineData?.data?.length ?? 0);
    for (const value of Object.values(other)) if (typeof value === 'object') size += JSON.stringify(value).length;
  }
  return size + (event.outputTranscription?.text?.length ?? 0) + (event.inputTranscription?.text?.length ?? 0);
}
