import type {LlmResponse} from '../models/llm-response.ts';

/** What later messages have taken back of earlier ones, which hooks may still be looking at when they come. */
export class Overtaken {
  #place = 0;
  #interruptedAt = 0;
  readonly #cancelledAt = new Map<string, number>();

  /** A message has come. Returns its place among all. */
  note({interrupted, toolCallCancellation}: LlmResponse): number {
    this.#place++;
    if (interrupted) this.#interruptedAt = this.#place;
    for (const id of toolCallCancellation?.ids ?? []) this.#cancelledAt.set(id, this.#place);
    return this.#place;
  }

  /** Whether the user has interrupted the model since. */
  isInterrupted(place: number): boolean {
    return this.#interruptedAt > place;
  }

  /** The calls that were cancelled since, by the server's ids. */
  cancelled(place: number): string[] {
    return [...this.#cancelledAt].flatMap(([id, at]) => (at > place ? id : []));
  }
}
