import type {Content} from '../../content.ts';
import {HistoryTurn} from './history-turn.ts';

/**
 * What a content is to the order of things: the user's message that starts a turn, another agent's words, part of a turn of calls
 * (the calls, their responses, what came with these), a filler of our own, or anything else.
 */
export type HistoryMark = 'user-message' | 'other-agent' | HistoryTurn | 'filler' | 'plain';

/**
 * Stands where a model would refuse the request: Gemini takes calls only right behind a user's content, and a request only with a
 * user's content at both ends.
 */
export const FILLER: Content = Object.freeze({
  role: 'user',
  parts: Object.freeze([Object.freeze({text: 'Continue.'})]) as Content['parts'] & object,
});

/** Keeps the place of responses until a request needs them. */
const NOT_YET: Content = {role: 'user'};

/** The contents of a request in their order. A turn's responses stand right behind its calls. */
export class HistoryLayout {
  readonly #contents: Content[] = [];
  readonly #marks: HistoryMark[] = [];
  readonly #changed = new Set<HistoryTurn>();
  /** Where the current turn starts. */
  #current = 0;

  push(content: Content, mark: HistoryMark): void {
    if (mark === 'user-message' || mark === 'other-agent') this.#current = this.#contents.length;
    this.#contents.push(content);
    this.#marks.push(mark);
  }

  pushTurn(turn: HistoryTurn): void {
    this.#pushCalls(turn);
    this.push(NOT_YET, turn);
    this.change(turn);
  }

  /** Says that a turn has other responses than before. */
  change(turn: HistoryTurn): void {
    this.#changed.add(turn);
  }

  /**
   * Puts turns that were answered late at the end, each with everything from the user's message that led to it. What was said in
   * between then stands before that message. Costs as much as was said since.
   */
  moveToEnd(turns: Iterable<HistoryTurn>): void {
    const order = [...turns].toSorted((a, b) => a.at - b.at);
    const lastByStart = new Map(order.map((turn) => [this.#startOf(turn), turn]));
    for (const turn of lastByStart.values()) this.#moveOne(turn);
  }

  /** A new array of all contents, or of the current turn's. */
  toContents(scope: 'all' | 'current'): Content[] {
    for (const turn of this.#changed) this.#contents[turn.at + 1] = turn.responses();
    this.#changed.clear();
    const contents = this.#contents.slice(scope === 'all' ? 0 : this.#current);
    if (contents[0]?.role === 'model') contents.unshift(FILLER);
    if (contents.at(-1)?.role !== 'user') contents.push(FILLER);
    return contents;
  }

  #pushCalls(turn: HistoryTurn): void {
    if (this.#contents.at(-1)?.role !== 'user') this.push(FILLER, 'filler');
    turn.at = this.#contents.length;
    this.push(turn.content, turn);
  }

  #moveOne(turn: HistoryTurn): void {
    let end = turn.at + 2;
    while (this.#marks[end] === turn) end++;
    if (end === this.#contents.length) return;
    const start = this.#startOf(turn);
    const contents = this.#contents.splice(start);
    const marks = this.#marks.splice(start);
    this.#pushAgain(contents, marks, end - start, contents.length);
    this.#pushAgain(contents, marks, 0, end - start);
  }

  #pushAgain(contents: readonly Content[], marks: readonly HistoryMark[], from: number, to: number): void {
    for (let at = from; at < to; at++) {
      const content = contents[at];
      const mark = marks[at];
      if (!content || !mark || mark === 'filler') continue;
      if (mark instanceof HistoryTurn && mark.content === content) this.#pushCalls(mark);
      else this.push(content, mark);
    }
  }

  #startOf(turn: HistoryTurn): number {
    let at = turn.at;
    while (at > 0 && this.#marks[at] !== 'user-message') at--;
    return at;
  }
}
