import type {Lifetime} from '../async/lifetime.ts';
import type {Timers} from '../async/timers.ts';
import {ToolTimeoutError} from '../errors.ts';

export interface Call<T> {
  readonly name: string;
  /** How long the body may take, in milliseconds. */
  readonly timeoutMs: number;
  readonly body: (life: Lifetime) => Promise<T>;
}

export interface CallScope {
  /** Its end stops the call. */
  readonly life: Lifetime;
  /** How long the call may still bring a value after that end, or after its own deadline, in milliseconds. */
  readonly graceMs: number;
  readonly timers: Timers;
}

/** How a call ended. `abandoned`: it did not react to its signal, and whatever it still does goes nowhere. */
export type Settlement<T> =
  | {readonly kind: 'value'; readonly value: T}
  | {readonly kind: 'error'; readonly error: unknown}
  | {readonly kind: 'timeout'; readonly error: ToolTimeoutError; readonly abandoned: boolean}
  | {readonly kind: 'cancelled'; readonly abandoned: boolean};

/**
 * Runs one body under a signal and a deadline of its own, and settles once, in bounded time whatever the body does: with its value, even
 * one that comes in the grace after a stop; else with what ended it.
 */
export function runCall<T>(call: Call<T>, scope: CallScope): Promise<Settlement<T>> {
  return new Promise((resolve) => {
    const life = scope.life.child();
    let timeout: ToolTimeoutError | undefined;
    let settled = false;
    let cancelTimer = (): void => {};

    const settle = (settlement: Settlement<T>): void => {
      if (settled) return;
      settled = true;
      cancelTimer();
      life.close();
      resolve(settlement);
    };
    const failed = (error: unknown): void => {
      if (timeout) settle({kind: 'timeout', error: timeout, abandoned: false});
      else if (life.ended) settle({kind: 'cancelled', abandoned: false});
      else settle({kind: 'error', error});
    };
    const leave = (): void => settle(timeout ? {kind: 'timeout', error: timeout, abandoned: true} : {kind: 'cancelled', abandoned: true});

    cancelTimer = scope.timers.set(call.timeoutMs, () => {
      timeout = new ToolTimeoutError(call.name, call.timeoutMs);
      life.end(timeout);
    });
    life.onEnd(() => {
      if (settled) return;
      cancelTimer();
      cancelTimer = scope.timers.set(scope.graceMs, leave);
    });
    call.body(life).then((value) => settle({kind: 'value', value}), failed);
  });
}
