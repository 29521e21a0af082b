import type {Gate} from '../async/gate.ts';
import type {StepEngine, Steps} from './steps.ts';

/** Steps that just run, at next to no cost: nothing is recorded. */
export const inProcessSteps: Steps = {
  step<T>(_name: string, run: () => T | PromiseLike<T>): Promise<T> {
    try {
      return Promise.resolve(run());
    } catch (error) {
      return Promise.reject(error);
    }
  },
  stream: (_name, run) => run(),
  all: <T>(thunks: readonly (() => Promise<T>)[], gate: Gate, dropped: (index: number) => T) =>
    Promise.all(thunks.map((thunk, index) => gate.run(thunk, () => dropped(index)))),
  child: (_name, run) => run(inProcessSteps),
  now: () => Date.now(),
  uuid: () => crypto.randomUUID(),
};

export const inProcessEngine: StepEngine = {drive: (loop) => loop(inProcessSteps)};
