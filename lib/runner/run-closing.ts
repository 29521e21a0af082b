import {abandonedWork, type Diagnostic} from '../agents/diagnostic.ts';
import type {Closing, ForeignWork, OpenWork} from '../agents/open-work.ts';
import type {ResolvedRunConfig} from '../agents/run-config.ts';
import type {Grace} from '../async/grace.ts';
import {Lifetime} from '../async/lifetime.ts';
import type {Timers} from '../async/timers.ts';
import {within, type Bound} from '../async/within.ts';
import type {Event} from '../events/event.ts';
import {inProcessSteps} from '../steps/in-process-steps.ts';
import {finish} from './finish.ts';
import type {SessionWriter} from './session-writer.ts';

const CLOSED = new DOMException('The run has ended', 'AbortError');

/** What there is to close. */
export interface RunClosingOptions {
  readonly config: ResolvedRunConfig;
  readonly timers: Timers;
  readonly grace: Grace;
  readonly diagnose: (diagnostic: Diagnostic) => void;
  readonly open: OpenWork;
  readonly writer: SessionWriter | undefined;
  /** What else has to be undone. */
  readonly cleanUp: (() => Promise<unknown>) | undefined;
  /** The loop, where it has begun, and the last pull of it, settled or not: asked for when the stop has come back to its caller. */
  readonly loop: () => {
    readonly generator: AsyncGenerator<Event, void, undefined> | undefined;
    readonly pulling: Promise<unknown> | undefined;
  };
}

/**
 * The closing of a run: lets its work react to the stop, and stores what is done. It has a signal and a bound of its own, never the run's.
 * Whatever fails in it is a diagnostic.
 */
export class RunClosing {
  readonly #options: RunClosingOptions;
  readonly #life = new Lifetime();
  #begun = false;

  constructor(options: RunClosingOptions) {
    this.#options = options;
  }

  /**
   * @param stopped - whether work may be under way; a run that has finished by itself has none
   * @param failure - what the run failed with by itself
   */
  async run(stopped: boolean, failure?: Closing['failure']): Promise<void> {
    const {open, writer, cleanUp} = this.#options;
    if (stopped) await this.#unwind();
    // The loop is over, or left behind: what it still gives while the rest is being closed comes too late.
    writer?.fence();
    for (const work of open.takeUnfinished()) {
      const events = await this.#finish('the closing of unfinished work', () =>
        work.close({steps: inProcessSteps, life: this.#life, failure}),
      );
      for (const event of events ?? []) if (writer) await this.#finish('the closing Event', () => writer.appendLast(event, inProcessSteps));
    }
    // A hook that was called only now, and did not react to the end of the closing either.
    this.#tellAbandoned(open.abandonForeign());
    if (cleanUp) await this.#finish('the clean-up of the session', cleanUp);
    this.#life.end(CLOSED);
  }

  /** Waits for the loop to let go, then makes its generators run their `finally` blocks; leaves behind what does not react. */
  async #unwind(): Promise<void> {
    // A stop may come from within the pull itself, which is known only when that call is over.
    await Promise.resolve();
    const {loop, open} = this.#options;
    const {pulling, generator} = loop();
    const pulled = pulling === undefined || (await this.#letGo(pulling));
    const returned = generator?.return();
    // Should what is left behind ever settle, its generators still run their `finally` blocks.
    returned?.catch(() => {});
    if (pulled && (!returned || (await this.#letGo(returned)))) return;
    const agent = open.abandonAgents();
    const left = open.abandonForeign();
    this.#tellAbandoned(left.length > 0 ? left : [{name: `agent ${agent}`}]);
  }

  #tellAbandoned(left: readonly ForeignWork[]): void {
    for (const {name} of left) this.#options.diagnose(abandonedWork(name));
  }

  /** Foreign work gets the grace. A write to the store that is under way is finished, within the closing's bound. */
  async #letGo(work: Promise<unknown>): Promise<boolean> {
    const {grace, timers, writer} = this.#options;
    // The turn of the timers after the grace lets work that was left behind inside, such as a tool, end what waits for it.
    if (await within(work, (callback) => grace.onOver(() => timers.set(0, callback)))) return true;
    return (writer?.busy ?? false) && within(work, this.#bound);
  }

  /** Calls back at the closing's bound; its clock starts when it is first needed. */
  readonly #bound: Bound = (callback) => {
    const {timers, config} = this.#options;
    if (!this.#begun)
      timers.set(config.closeTimeoutMs, () => this.#life.end(new DOMException('The closing took too long', 'TimeoutError')));
    this.#begun = true;
    let wanted = true;
    this.#life.onEnd(() => {
      if (wanted) callback();
    });
    return () => (wanted = false);
  };

  #finish<T>(name: string, work: () => Promise<T>): Promise<T | undefined> {
    const {diagnose, config} = this.#options;
    return finish(name, work, {diagnose, closeTimeoutMs: config.closeTimeoutMs, bound: this.#bound});
  }
}
