import {LONGEST_MS} from '../async/timers.ts';
import {InvalidOptionError, SessionBusyError} from '../errors.ts';
import type {SessionKey} from './session.ts';

/** How long a run waits for its session, and as whom. */
export interface AcquireOptions {
  /** Who takes the place, as a {@link SessionBusyError} of another names it: the run's invocation id. */
  readonly holder: string;
  /** How long to wait at most, in milliseconds; over 2,147,483,647, or Infinity, without end; 0 not at all. */
  readonly waitMs: number;
  /** Leaves the queue. */
  readonly abortSignal: AbortSignal;
  /** `true`: whoever waits while this one holds the session, or comes then, fails at once. Default `false`. */
  readonly exclusive?: boolean;
  /** Makes the one timer of a wait. */
  readonly timers: WaitTimers;
}

/** Where a wait gets its timer; `set` returns what cancels it. */
export interface WaitTimers {
  set(ms: number, callback: () => void): () => void;
}

/**
 * Takes a session of a service for one run, once all runs before it on that session have released it.
 *
 * The queue belongs to the service object and lives as long as it does, so Runners that share a service share its queue.
 *
 * @returns the function that releases the session; only its first call counts. Once it has resolved the session is held and must be
 *   released, also where the signal has fired in the meantime.
 * @throws the signal's reason, where it has fired: at once if before, and while waiting
 * @throws {@link SessionBusyError} naming the holder, after `waitMs`, or at once where the holder is exclusive
 */
export function acquireSession(service: object, key: SessionKey, options: AcquireOptions): Promise<() => void> {
  return sessionQueueOf(service).acquire(key, options);
}

/** The queue that belongs to a service object. */
export function sessionQueueOf(service: object): SessionQueue {
  let queue = queues.get(service);
  if (!queue) queues.set(service, (queue = new SessionQueue()));
  return queue;
}

const queues = new WeakMap<object, SessionQueue>();

/** Who holds which session, and who waits for it, first come first served. */
export class SessionQueue {
  readonly #places = new Map<string, Place>();

  /** How many sessions are held. */
  get size(): number {
    return this.#places.size;
  }

  /** Takes a session; see {@link acquireSession}. */
  async acquire({appName, userId, sessionId}: SessionKey, options: AcquireOptions): Promise<() => void> {
    const {holder, waitMs, abortSignal, exclusive = false} = options;
    if (typeof waitMs !== 'number' || !(waitMs >= 0))
      throw new InvalidOptionError('sessionWaitMs', 'a number of milliseconds, 0 or more', waitMs);
    abortSignal.throwIfAborted();
    const name = JSON.stringify([appName, userId, sessionId]);
    const place = this.#places.get(name);
    if (place) {
      if (place.exclusive || waitMs === 0) throw new SessionBusyError(sessionId, place.holder, 0);
      return wait(place, options);
    }
    const taken: Place = {sessionId, holder, exclusive, waiting: new Set(), remove: () => this.#places.delete(name)};
    this.#places.set(name, taken);
    return releaseOnce(taken);
  }
}

interface Place {
  readonly sessionId: string;
  holder: string;
  exclusive: boolean;
  /** In the order of arrival. */
  readonly waiting: Set<Waiter>;
  /** Forgets the place, once nobody holds it or waits for it. */
  readonly remove: () => void;
}

interface Waiter {
  readonly holder: string;
  readonly exclusive: boolean;
  /** Leaves the queue with the place. */
  readonly admit: (release: () => void) => void;
  /** Leaves the queue because an exclusive holder took the place. */
  readonly refuse: () => void;
}

function wait(place: Place, options: AcquireOptions): Promise<() => void> {
  const {holder, waitMs, abortSignal, exclusive = false, timers} = options;
  const since = Date.now();
  return new Promise((resolve, reject) => {
    let cancelTimer: (() => void) | undefined;
    const leave = (): void => {
      place.waiting.delete(waiter);
      abortSignal.removeEventListener('abort', onAbort);
      cancelTimer?.();
    };
    const fail = (reason: unknown): void => {
      leave();
      reject(reason);
    };
    const waiter: Waiter = {
      holder,
      exclusive,
      admit: (release) => {
        leave();
        resolve(release);
      },
      refuse: () => fail(new SessionBusyError(place.sessionId, place.holder, Date.now() - since)),
    };
    const onAbort = (): void => fail(abortSignal.reason);
    const onTimeout = (): void => fail(new SessionBusyError(place.sessionId, place.holder, waitMs));
    if (waitMs <= LONGEST_MS) cancelTimer = timers.set(waitMs, onTimeout);
    abortSignal.addEventListener('abort', onAbort);
    place.waiting.add(waiter);
  });
}

function releaseOnce(place: Place): () => void {
  let released = false;
  return () => {
    if (released) return;
    released = true;
    handOver(place);
  };
}

function handOver(place: Place): void {
  const [next] = place.waiting;
  if (!next) {
    place.remove();
    return;
  }
  place.holder = next.holder;
  place.exclusive = next.exclusive;
  next.admit(releaseOnce(place));
  if (next.exclusive) for (const waiter of place.waiting) waiter.refuse();
}
