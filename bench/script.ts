import type {Content, FunctionCall} from '@google/genai';

/** One answer of the scripted model: calls, or a text that is streamed in pieces where the reader streams. */
export interface Turn {
  readonly calls?: readonly FunctionCall[];
  readonly text?: string;
  /** How many pieces of `PIECE` the text is made of. */
  readonly pieces?: number;
  readonly latencyMs?: number;
}

export const PIECE = 'tok ';

/** What the scripted model answers in one conversation, call by call, and what it was asked. */
export class Script {
  readonly #turns: (index: number) => Turn;
  readonly #check: ((index: number, contents: readonly Content[]) => void) | undefined;
  #requests = 0;
  #callIds = 0;

  constructor(turns: (index: number) => Turn, check?: (index: number, contents: readonly Content[]) => void) {
    this.#turns = turns;
    this.#check = check;
  }

  /** How many calls the model has had. */
  get requests(): number {
    return this.#requests;
  }

  async take(contents: readonly Content[]): Promise<{calls: FunctionCall[]; text: string; pieces: Pieces}> {
    const index = this.#requests++;
    this.#check?.(index, contents);
    const turn = this.#turns(index);
    if (turn.latencyMs !== undefined) await new Promise((resolve) => setTimeout(resolve, turn.latencyMs));
    const calls = (turn.calls ?? []).map((call) => ({id: `call_${this.#callIds++}`, ...call}));
    return {calls, text: turn.pieces ? PIECE.repeat(turn.pieces) : (turn.text ?? ''), pieces: new Pieces(turn.pieces ?? 0)};
  }
}

/** Pieces of text as they come from a network: each is waited for. */
class Pieces implements AsyncIterable<string>, AsyncIterator<string, undefined> {
  #left: number;

  constructor(count: number) {
    this.#left = count;
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<string, undefined>> {
    if (this.#left === 0) return {done: true, value: undefined};
    this.#left--;
    return {done: false, value: PIECE};
  }
}

/** The results of all calls that a request carries, in its order. */
export function resultsIn(contents: readonly Content[]): unknown[] {
  const results: unknown[] = [];
  for (const {parts = []} of contents)
    for (const part of parts) if (part.functionResponse) results.push(part.functionResponse.response?.['result']);
  return results;
}
