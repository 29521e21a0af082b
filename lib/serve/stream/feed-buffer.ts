import {getFunctionResponses, type Event} from '../../events/event.ts';
import {runTag, type StreamedEvent} from './run-source.ts';
import {endId} from './stream-encoder.ts';

/**
 * The newest Events of a run, up to so many bytes. A partial Event goes when the whole one has come, and before whole ones where there is no
 * room; whole Events then go oldest first. The newest Event always stays.
 */
export class FeedBuffer {
  readonly #limit: number;
  readonly #tag: string;
  readonly #endId: string;
  #entries: StreamedEvent[] = [];
  #bytes = 0;
  #newest = 0;
  /** The last whole Event for which there was no room. */
  #lost: {readonly id: string; readonly sequence: number} = {id: '', sequence: 0};
  /** What pieces are missing of Events that have not come whole: where the last of the dropped ones stood. */
  readonly #cut = new Map<string, number>();

  constructor(limit: number, invocationId: string) {
    this.#limit = limit;
    this.#tag = runTag(invocationId);
    this.#endId = endId(invocationId);
  }

  add(entry: StreamedEvent): void {
    this.#newest = entry.sequence;
    if (!entry.event.partial) this.#dropPieces(entry.event);
    this.#entries.push(entry);
    this.#bytes += entry.json.length;
    while (this.#bytes > this.#limit && this.#entries.length > 1) this.#dropOne();
  }

  clear(): void {
    this.#entries = [];
    this.#bytes = 0;
    this.#lost = {id: '', sequence: this.#newest};
  }

  /** The first Event behind a place in the run. */
  after(sequence: number): StreamedEvent | undefined {
    let [low, high] = [0, this.#entries.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#entries[middle]?.sequence ?? 0) > sequence) high = middle;
      else low = middle + 1;
    }
    return this.#entries[low];
  }

  /** Whether whole Events behind a place in the run are gone. */
  hasLost(sequence: number): boolean {
    return this.#lost.sequence > sequence;
  }

  /** Where the last piece with this key stood that was dropped without its whole Event; 0 where none was. */
  cutAt(key: string): number {
    return this.#cut.get(key) ?? 0;
  }

  /** The place of the message with this id; `undefined` where it is not known that nothing behind it is gone. */
  find(id: string): number | undefined {
    if (id === this.#endId) return this.#newest;
    if (id === this.#lost.id) return this.#lost.sequence;
    const whole = this.#entries.find((entry) => entry.id === id || (!entry.event.partial && entry.event.id === id));
    const sequence = whole?.sequence ?? this.#placeOfPiece(id);
    return sequence === undefined || this.hasLost(sequence) ? undefined : sequence;
  }

  /** A partial Event's place is in its id: it is known also when the Event is gone. */
  #placeOfPiece(id: string): number | undefined {
    const [, place, tag] = /:(\d+)-(.+)$/.exec(id) ?? [];
    const sequence = Number(place);
    return tag === this.#tag && sequence <= this.#newest ? sequence : undefined;
  }

  #dropPieces(whole: Event): void {
    const keys = new Set([`event ${whole.id}`, ...getFunctionResponses(whole).map(({id = ''}) => `call ${id}`)]);
    for (const key of keys) this.#cut.delete(key);
    this.#entries = this.#entries.filter(({event, json}) => {
      const isPiece = event.partial && keys.has(pieceKey(event));
      if (isPiece) this.#bytes -= json.length;
      return !isPiece;
    });
  }

  #dropOne(): void {
    const piece = this.#entries.findIndex(({event}) => event.partial);
    const at = piece >= 0 && piece < this.#entries.length - 1 ? piece : 0;
    for (const {event, id, json, sequence} of this.#entries.splice(at, 1)) {
      this.#bytes -= json.length;
      if (event.partial) this.#cut.set(pieceKey(event), sequence);
      else this.#lost = {id, sequence};
    }
  }
}

/** Names the whole Event that a partial one is a piece of: a reply has its id, the progress of a tool the id of its call. */
export function pieceKey(event: Event): string {
  const [response] = getFunctionResponses(event);
  return response ? `call ${response.id ?? ''}` : `event ${event.id}`;
}
