import type {Lifetime} from '../async/lifetime.ts';
import type {Event} from '../events/event.ts';
import type {Steps} from '../steps/steps.ts';

/** What work has at hand while its run closes: not the run's own signal, which has fired, nor its seam, whose attempt may be over. */
export interface Closing {
  readonly steps: Steps;
  /** Ends when the closing's bound is reached. */
  readonly life: Lifetime;
  /** What the run failed with; missing where it was stopped or has finished. */
  readonly failure?: {readonly reason: unknown} | undefined;
}

/** Work that a stop would leave half done; `close` says what has to be stored for it. */
export interface Unfinished {
  /** The Events that finish it, at most one of them with content. May run user code, within the closing's bound. */
  close(closing: Closing): Promise<Event[]>;
}

/** User code that is being waited for. */
export interface ForeignWork {
  /** For example `model gemini-2.5-flash`. */
  readonly name: string;
  /** Cuts it off from the run when it is left behind. */
  readonly revoke?: (() => void) | undefined;
}

/**
 * What a run has under way. It stands beside the generators, not in their `finally` blocks: a generator that is parked on an await which
 * never settles cannot run its `finally`, and the session must be closed all the same.
 */
export class OpenWork {
  readonly #unfinished = new Set<Unfinished>();
  readonly #foreign = new Set<ForeignWork>();
  readonly #agents: ForeignWork[] = [];
  readonly #made = new Set<string>();

  /** Remembers work until the function that it returns is called. */
  add(work: Unfinished): () => void {
    this.#unfinished.add(work);
    return () => this.#unfinished.delete(work);
  }

  /** Takes out what is unfinished, the innermost first. */
  takeUnfinished(): Unfinished[] {
    const work = [...this.#unfinished].toReversed();
    this.#unfinished.clear();
    return work;
  }

  /** Remembers that user code is waited for, until the function that it returns is called. */
  enter(work: ForeignWork): () => void {
    this.#foreign.add(work);
    return () => this.#foreign.delete(work);
  }

  /** Cuts off whatever is still waited for, and says what that was. */
  abandonForeign(): ForeignWork[] {
    const work = [...this.#foreign];
    this.#foreign.clear();
    for (const {revoke} of work) revoke?.();
    return work;
  }

  /** Remembers an agent that takes part in the run. */
  addAgent(agent: ForeignWork): void {
    this.#agents.push(agent);
  }

  /** Cuts off every agent, and names the one that was called last. */
  abandonAgents(): string {
    for (const {revoke} of this.#agents) revoke?.();
    return this.#agents.at(-1)?.name ?? '';
  }

  /** Remembers an Event that completes work. Such a one is stored also when the stop has come before it could be. */
  complete(event: Event): Event {
    this.#made.add(event.id);
    return event;
  }

  /** Whether an Event completes work; asked once. */
  takeCompleted({id}: Event): boolean {
    return this.#made.delete(id);
  }
}
