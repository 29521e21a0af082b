/** Calls back when time is up; returns what takes that back. */
export type Bound = (callback: () => void) => () => void;

/** Waits for work to settle, either way, but no longer than the bound. Resolves to whether it settled. Never rejects. */
export function within(work: Promise<unknown>, bound: Bound): Promise<boolean> {
  return new Promise((resolve) => {
    let cancel = (): void => {};
    const settled = (): void => {
      cancel();
      resolve(true);
    };
    work.then(settled, settled);
    cancel = bound(() => resolve(false));
  });
}
