import {constants} from 'node:os';
import {LONGEST_MS} from '../async/timers.ts';

/** What there is to end in this process, and how long its runs may go on, in milliseconds. */
export interface Drain {
  readonly signals: readonly NodeJS.Signals[];
  readonly timeoutMs: number;
  close(): Promise<void>;
}

/** What a drain may take beyond its deadline: to stop what is left and to store it. */
const STOPPING_MS = 5_000;

const drains = new Set<Drain>();
/** Each signal with its listener, while somebody wants to be told of it. */
const listeners = new Map<NodeJS.Signals, () => void>();
let exiting = false;

/** Drains when one of its signals comes, and ends the process then. Returns what takes that back. */
export function drainOnSignal(drain: Drain): () => void {
  drains.add(drain);
  for (const signal of drain.signals) {
    if (listeners.has(signal)) continue;
    const listener = (): void => onSignal(signal);
    listeners.set(signal, listener);
    process.on(signal, listener);
  }
  return () => {
    drains.delete(drain);
    // A process that is about to end still hears the second signal.
    if (!exiting) forgetUnused();
  };
}

function forgetUnused(): void {
  const wanted = new Set([...drains].flatMap(({signals}) => signals));
  for (const [signal, listener] of listeners) {
    if (wanted.has(signal)) continue;
    process.off(signal, listener);
    listeners.delete(signal);
  }
}

function onSignal(signal: NodeJS.Signals): void {
  if (exiting) process.exit(128 + constants.signals[signal]);
  exiting = true;
  const concerned = [...drains].filter(({signals}) => signals.includes(signal));
  const longest = Math.max(...concerned.map(({timeoutMs}) => timeoutMs)) + STOPPING_MS;
  if (longest <= LONGEST_MS) setTimeout(() => process.exit(1), longest);
  Promise.all(concerned.map((drain) => drain.close())).then(
    () => process.exit(0),
    (error: unknown) => {
      // oxlint-disable-next-line no-console -- the last thing that this process can tell anybody.
      console.error(error);
      process.exit(1);
    },
  );
}
