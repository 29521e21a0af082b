import {afterEach, beforeEach} from 'vitest';
import {idle} from '../stories/kit.ts';

/** Makes each test of a suite fail that leaves a rejection unhandled. */
export function failOnUnhandled(): void {
  const unhandled: unknown[] = [];
  const note = (reason: unknown): void => void unhandled.push(reason);
  beforeEach(() => void process.on('unhandledRejection', note));
  afterEach(async () => {
    await idle();
    process.off('unhandledRejection', note);
    const left = unhandled.splice(0);
    if (left.length > 0) throw new AggregateError(left, 'Rejections that nobody handled');
  });
}
