import type {RunOutcome} from 'sluice';
import {fact, line, ms, paint} from './screen.ts';

/** How a run ended, as the run itself tells. */
export function printOutcome({kind, llmCalls, usage, abandoned}: RunOutcome): void {
  const tokens = usage?.totalTokenCount === undefined ? '' : `, ${usage.totalTokenCount} tokens`;
  const left = abandoned.length === 0 ? 'nothing left behind' : `left behind: ${abandoned.join(', ')}`;
  fact('settled', `${kind}: ${llmCalls} model call${llmCalls === 1 ? '' : 's'}${tokens}, ${left}`);
}

/** How a socket ended, as its server tells; times on the scale of `performance.now()`. */
export interface Socket {
  readonly name: string;
  readonly openedAt: number;
  readonly closed: Promise<{readonly early: boolean; readonly afterMs: number}>;
  /** When the run was stopped. */
  readonly stoppedAt: number;
}

export async function printSocket({name, openedAt, closed, stoppedAt}: Socket): Promise<void> {
  const {early, afterMs} = await closed;
  const after = ms(afterMs);
  const told = early ? `socket closed after ${after}, ${ms(openedAt + afterMs - stoppedAt)} after the stop` : `answered in ${after}`;
  line(`  ${name.padEnd(24)}${paint(early ? 'red' : 'reset', told)}`);
}
