/** A function call, or an answer to one, as far as pairing the two goes. */
export interface WireCall {
  readonly id?: string;
  readonly name?: string;
}

/** A tool as a setup declares it. */
export interface WireTool {
  readonly functionDeclarations?: readonly {readonly name?: string; readonly behavior?: string}[];
}

/** Which calls a live session has made, and which of them still wait for an answer. */
export class LiveCalls {
  readonly #backend: 'gemini' | 'vertex';
  /** The declared behaviour, by function. */
  readonly #behavior = new Map<string, string>();
  /** The ids of all calls, in order; a state holds how many of them there were. */
  readonly #ids: string[];
  readonly #called: Set<string>;
  #open: readonly WireCall[];

  constructor(backend: 'gemini' | 'vertex', before?: LiveCallsState) {
    this.#backend = backend;
    this.#ids = before?.ids.slice(0, before.count) ?? [];
    this.#called = new Set(this.#ids);
    this.#open = before?.open ?? [];
  }

  /** What a session that goes on from here has to know. */
  get state(): LiveCallsState {
    return {ids: this.#ids, count: this.#ids.length, open: this.#open};
  }

  declare(tools: readonly WireTool[]): void {
    for (const {functionDeclarations = []} of tools) {
      for (const {name = '', behavior} of functionDeclarations) if (behavior !== undefined) this.#behavior.set(name, behavior);
    }
  }

  add(calls: readonly WireCall[]): void {
    for (const {id} of calls) {
      if (id === undefined) continue;
      this.#ids.push(id);
      this.#called.add(id);
    }
    this.#open = [...this.#open, ...calls];
  }

  isCalled(id: string): boolean {
    return this.#called.has(id);
  }

  /** An answer goes to the call with its id, or, without one, to the first of its name. */
  answer({id, name}: WireCall): void {
    const at = this.#open.findIndex((call) => (id === undefined ? call.name === name : call.id === id));
    this.#open = this.#open.filter((_, index) => index !== at);
  }

  cancel(ids: readonly string[]): void {
    this.#open = this.#open.filter(({id}) => id === undefined || !ids.includes(id));
  }

  cancelAll(): void {
    this.#open = [];
  }

  /** A call during which the client may not speak. */
  get blocking(): WireCall | undefined {
    return this.#open.find(({name = ''}) => {
      const behavior = this.#behavior.get(name);
      // On Vertex a call blocks where its function says so, on the Gemini API unless it says otherwise.
      return this.#backend === 'vertex' ? behavior === 'BLOCKING' : behavior !== 'NON_BLOCKING';
    });
  }
}

/** The calls of a session at one moment. */
export interface LiveCallsState {
  readonly ids: readonly string[];
  readonly count: number;
  readonly open: readonly WireCall[];
}
