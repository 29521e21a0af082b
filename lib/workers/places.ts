import type {Lifetime} from '../async/lifetime.ts';

/** Who may run now, in the order in which they came. One whose life ends leaves the queue at once. */
export class Places {
  readonly #hasRoom: (taken: number) => boolean;
  readonly #queue = new Set<() => void>();
  #taken = 0;

  /** @param hasRoom - whether one more than `taken` may run */
  constructor(hasRoom: (taken: number) => boolean) {
    this.#hasRoom = hasRoom;
  }

  /** Resolves to whether there is a place, to be given back with `leave`; `false` where `life` ends before. */
  enter(life: Lifetime): Promise<boolean> {
    if (life.ended) return Promise.resolve(false);
    return new Promise((resolve) => {
      const enter = (): void => resolve(true);
      this.#queue.add(enter);
      life.onEnd(() => {
        if (this.#queue.delete(enter)) resolve(false);
      });
      this.fill();
    });
  }

  leave(): void {
    this.#taken--;
    this.fill();
  }

  /** Lets in whoever has room. */
  fill(): void {
    for (const enter of this.#queue) {
      if (!this.#hasRoom(this.#taken)) return;
      this.#queue.delete(enter);
      this.#taken++;
      enter();
    }
  }
}
