import {expect} from 'vitest';
import type {Kind, StopMoment, StoppableScene} from './stop-kinds.ts';

/** Brings a run to its moment, stops it there, and checks what the pending `next()` comes to. Gives the time of the stop. */
export async function stopAt<S extends StoppableScene>(scene: S, kind: Kind, moment: StopMoment<S>): Promise<number> {
  let stoppedAt = 0;
  const markStop = (): void => void (stoppedAt = performance.now());
  if (kind.read) {
    await kind.read(scene, moment, () => {
      markStop();
      // By the time that this runs, the loop is being left.
      queueMicrotask(() => moment.after?.(scene));
    });
    return stoppedAt;
  }
  await scene.read(moment.reads);
  const pending = moment.pending ? scene.run.next() : undefined;
  const came = pending?.then(
    (value) => ({value}),
    (reason: unknown) => ({reason}),
  );
  await moment.reached?.(scene);
  markStop();
  await kind.stop(scene, () => moment.after?.(scene));
  if (came) expectEnd(await came, kind, scene);
  // The first to ask is told; `throw()` has told already.
  else if (kind.name !== 'throw()') {
    expectEnd(
      await scene.run.next().then(
        (value) => ({value}),
        (reason: unknown) => ({reason}),
      ),
      kind,
      scene,
    );
  }
  return stoppedAt;
}

function expectEnd(came: {value: unknown} | {reason: unknown}, kind: Kind, scene: StoppableScene): void {
  if (!kind.isReason) expect(came).toEqual({value: {done: true, value: undefined}});
  else expect('reason' in came && kind.isReason(came.reason, scene)).toBe(true);
}
