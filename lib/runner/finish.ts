import type {Diagnostic} from '../agents/diagnostic.ts';
import {within, type Bound} from '../async/within.ts';
import {messageOf} from '../errors.ts';

/** How the closing of a run or a runner waits. */
export interface FinishOptions {
  readonly diagnose: (diagnostic: Diagnostic) => void;
  readonly closeTimeoutMs: number;
  /** Calls back when `closeTimeoutMs` have passed. */
  readonly bound: Bound;
}

/** What the work comes to; where it fails or takes too long, a diagnostic and nothing. */
export async function finish<T>(name: string, work: () => T | Promise<T>, options: FinishOptions): Promise<T | undefined> {
  const {diagnose, closeTimeoutMs, bound} = options;
  let settled: {value: T} | {cause: unknown} | undefined;
  const watched = (async () => work())().then(
    (value) => (settled = {value}),
    (cause: unknown) => (settled = {cause}),
  );
  await within(watched, bound);
  settled ??= {cause: new DOMException(`It took longer than closeTimeoutMs (${closeTimeoutMs} ms)`, 'TimeoutError')};
  if ('value' in settled) return settled.value;
  const {cause} = settled;
  diagnose({code: 'CLOSE_FAILED', name, cause, message: `While closing, ${name} failed: ${messageOf(cause)}`});
  return undefined;
}
