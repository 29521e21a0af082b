import {once} from 'node:events';
import {Timers} from '../async/timers.ts';
import {within} from '../async/within.ts';

/** How long a reader has to take what is left, once the program is to end. */
const FLUSH_MS = 1_000;

/**
 * Writes, and waits while the reader is slow. Nothing is thrown where the reader has left: the stream's `error` event tells.
 *
 * @param stop - fires when nobody waits for a reader any more; what is written stays on its way
 */
export async function write(stream: NodeJS.WriteStream, text: string, stop: AbortSignal): Promise<void> {
  if (text === '' || stream.write(text) || stream.destroyed) return;
  await once(stream, 'drain', {signal: stop}).catch(() => {});
}

/** Resolves when the standard streams have handed over what was written to them, or a second after `leave` has fired. */
export async function flushed(leave: AbortSignal): Promise<void> {
  const handedOver = Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))));
  const timers = new Timers();
  timers.hold();
  await within(handedOver, (callback) => {
    const expire = (): void => void timers.set(FLUSH_MS, callback);
    if (leave.aborted) expire();
    else leave.addEventListener('abort', expire, {once: true});
    return () => {
      leave.removeEventListener('abort', expire);
      timers.clear();
    };
  });
}
