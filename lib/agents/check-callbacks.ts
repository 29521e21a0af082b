import {expectOption} from '../errors.ts';
import type {Callbacks} from './callbacks.ts';

/** @throws {@link InvalidOptionError} where an option holds anything but a function or a list of functions */
export function checkCallbacks<F>(owner: string, option: string, callbacks: Callbacks<F> | undefined): Callbacks<F> | undefined {
  for (const callback of callbacks === undefined ? [] : [callbacks].flat()) {
    expectOption(typeof callback === 'function', `${owner}.${option}`, 'a function or a list of functions', callback);
  }
  return callbacks;
}
