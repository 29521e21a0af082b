import type {Event} from '../../events/event.ts';
import {OpenWork, type ForeignWork, type Unfinished} from '../open-work.ts';

/** What one branch of a run has under way: a part of what the run has, which can be taken out while the run goes on. */
export class BranchWork extends OpenWork {
  readonly #run: OpenWork;
  /** What takes each out of the run's. */
  readonly #unfinished = new Map<Unfinished, () => void>();
  readonly #foreign = new Map<ForeignWork, () => void>();

  /** @param run - what the whole run has under way */
  constructor(run: OpenWork) {
    super();
    this.#run = run;
  }

  override add(work: Unfinished): () => void {
    return link(this.#unfinished, work, this.#run.add(work));
  }

  override takeUnfinished(): Unfinished[] {
    return takeAll(this.#unfinished);
  }

  /** Takes out the innermost of what is unfinished. */
  takeInnermost(): Unfinished | undefined {
    const work = [...this.#unfinished.keys()].at(-1);
    if (work) this.#unfinished.get(work)?.();
    return work;
  }

  override enter(work: ForeignWork): () => void {
    return link(this.#foreign, work, this.#run.enter(work));
  }

  override abandonForeign(): ForeignWork[] {
    const work = takeAll(this.#foreign).toReversed();
    for (const {revoke} of work) revoke?.();
    return work;
  }

  override addAgent(agent: ForeignWork): void {
    super.addAgent(agent);
    this.#run.addAgent(agent);
  }

  override complete(event: Event): Event {
    return this.#run.complete(event);
  }

  override takeCompleted(event: Event): boolean {
    return this.#run.takeCompleted(event);
  }
}

function link<W>(works: Map<W, () => void>, work: W, forgetInRun: () => void): () => void {
  const forget = (): void => {
    works.delete(work);
    forgetInRun();
  };
  works.set(work, forget);
  return forget;
}

/** Takes out everything, the newest first. */
function takeAll<W>(works: Map<W, () => void>): W[] {
  const taken = [...works].toReversed();
  for (const [, forget] of taken) forget();
  return taken.map(([work]) => work);
}
