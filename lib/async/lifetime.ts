/**
 * The life of one operation: a signal that fires once, for it and for everything that it started.
 *
 * Children are linked by hand. A listener per child on a long-lived signal, and even more `AbortSignal.any`, cost many times as much and
 * stay behind when somebody forgets them; a closed child is just taken out of its parent's set.
 */
export class Lifetime {
  /** Made when somebody asks for the signal: most operations end without anybody having looked. */
  #controller: AbortController | undefined;
  #parent: Lifetime | undefined;
  #children: Set<Lifetime> | undefined;
  #onEnd: (() => void)[] | undefined;
  #ended = false;
  #reason: unknown;

  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#ended) this.#controller.abort(this.#reason);
    }
    return this.#controller.signal;
  }

  /** @throws the reason, where it has ended */
  throwIfEnded(): void {
    if (this.#ended) throw this.#reason;
  }

  /** Why it has ended. */
  get reason(): unknown {
    return this.#reason;
  }

  get ended(): boolean {
    return this.#ended;
  }

  /** A life within this one: it ends with this one at the latest. */
  child(): Lifetime {
    const child = new Lifetime();
    if (this.#ended) child.end(this.#reason);
    else {
      child.#parent = this;
      (this.#children ??= new Set()).add(child);
    }
    return child;
  }

  /** Ends it, and its children, for this reason. Later calls do nothing. */
  end(reason: unknown): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#reason = reason;
    this.close();
    this.#controller?.abort(reason);
    for (const child of this.#children ?? []) child.end(reason);
    this.#children = undefined;
    // The whole before its parts would start the clock of its own grace before theirs, and give them up before their time.
    for (const callback of this.#onEnd ?? []) callback();
  }

  /** Calls back when it ends, at once if it has. */
  onEnd(callback: () => void): void {
    if (this.#ended) callback();
    else (this.#onEnd ??= []).push(callback);
  }

  /** Lets go of the parent without ending anything: the operation is over. */
  close(): void {
    const parent = this.#parent;
    if (!parent) return;
    parent.#children?.delete(this);
    this.#parent = undefined;
  }
}
