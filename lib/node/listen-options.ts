import {constants} from 'node:os';
import {expectOption} from '../errors.ts';
import {checkOptions, isFunction, isMs, isName, isWholeNumber, optional, type Check} from '../schema/options.ts';
import type {Handler} from '../serve/handler.ts';
import {isAllowedHosts} from './allowed-hosts.ts';
import type {NodeHandlerOptions} from './node-handler.ts';

/** Options of `listen`. */
export interface ListenOptions extends NodeHandlerOptions {
  /** Default 8000; 0 takes one that is free. */
  readonly port?: number | undefined;
  /** The address to listen on. Default `127.0.0.1`, which only this machine reaches: a container wants `0.0.0.0`. */
  readonly hostname?: string | undefined;
  /**
   * The hosts that requests may be for, by name and without a port, beside this machine (`localhost`, names below it, 127.0.0.1, [::1]) and
   * `hostname`. A proxy in front that passes on the `Host` it was asked for needs its own names here. A request for another host is answered
   * with 403 `HOST_NOT_ALLOWED`, and the handler never sees it; `'*'` lets any in. Default: none on an address that only this machine
   * reaches, so that no page gets at the server under a name of its own (DNS rebinding); on other addresses `'*'`
   */
  readonly allowedHosts?: '*' | readonly string[] | undefined;
  /** The signals that drain and end the process; none with `[]`. Default `['SIGTERM', 'SIGINT']` */
  readonly signals?: readonly NodeJS.Signals[] | undefined;
  /** How long runs may go on after a signal, in milliseconds. Default 5,000: some platforms kill 10 seconds after their signal. */
  readonly drainTimeoutMs?: number | undefined;
}

// No process is asked about these.
const DEAF = new Set<unknown>(['SIGKILL', 'SIGSTOP']);

const isSignals: Check = {
  expected: 'an array of signals that a process can handle, such as SIGTERM',
  accepts: (value) => Array.isArray(value) && value.every((name) => Object.hasOwn(constants.signals, name as string) && !DEAF.has(name)),
};

/** Options of a listener's `close`. */
export interface CloseOptions {
  /** How long the runs may go on, in milliseconds. Default: `drainTimeoutMs` of `listen` */
  readonly timeoutMs?: number | undefined;
}

/** What the options come to. */
export interface ListenSettings {
  readonly port: number;
  readonly hostname: string;
  readonly allowedHosts: '*' | readonly string[] | undefined;
  readonly signals: readonly NodeJS.Signals[];
  readonly drainTimeoutMs: number;
}

/** @throws InvalidOptionError */
export function checkListen(handler: Handler, options: ListenOptions): ListenSettings {
  const isHandler = typeof handler === 'function' && typeof handler.close === 'function';
  expectOption(isHandler, 'handler', 'a Handler, such as createHandler of sluice/serve makes', handler);
  checkOptions('listen', options, {
    port: optional(isWholeNumber({min: 0, max: 65_535})),
    hostname: optional(isName),
    allowedHosts: optional(isAllowedHosts),
    signals: optional(isSignals),
    drainTimeoutMs: optional(isMs),
    onError: optional(isFunction),
  });
  const {port = 8000, hostname = '127.0.0.1', allowedHosts, signals = ['SIGTERM', 'SIGINT'], drainTimeoutMs = 5_000} = options;
  return {port, hostname, allowedHosts, signals, drainTimeoutMs};
}

/** @throws InvalidOptionError */
export function checkClose(options: CloseOptions): void {
  checkOptions('close', options, {timeoutMs: optional(isMs)});
}
