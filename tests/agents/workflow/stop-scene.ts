import {expect} from 'vitest';
import {StreamingMode, type Event, type InvocationContext, type Run, type RunConfig} from 'sluice';
import {deltas, functionCalls, type ScriptedStep} from 'sluice/testing';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {expectNoListeners, idle, type Stage} from '../../stories/kit.ts';
import {expectPaired, Gated, Own, speaker, stageOf, told} from './kit.ts';

/** The answer to a call that a stop found running. */
export const CANCELLED = '{"error":"cancelled; it may have taken effect","started":true}';

export const streaming: RunConfig = {streamingMode: StreamingMode.SSE};

/** A model's reply of which one piece comes, and nothing more until its signal fires. */
export interface Stalled {
  readonly step: ScriptedStep;
  readonly streamed: Promise<void>;
  readonly signals: (AbortSignal | undefined)[];
}

export function stalled(piece: string): Stalled {
  const {promise, resolve} = Promise.withResolvers<void>();
  const signals: (AbortSignal | undefined)[] = [];
  const step: ScriptedStep = async function* (_, {abortSignal}) {
    signals.push(abortSignal);
    yield* deltas(piece).slice(0, 1);
    resolve();
    await fired(abortSignal);
  };
  return {step, streamed: promise, signals};
}

/** Rejects when the signal fires. */
function fired(abortSignal: AbortSignal | undefined): Promise<never> {
  return new Promise((_, reject) => abortSignal?.addEventListener('abort', () => reject(abortSignal.reason)));
}

/** A branch in the middle of a tool, one in the middle of a reply, one with an Event that nobody has read, and one that has said it all. */
export interface Scene {
  readonly it: Stage;
  readonly run: Run;
  readonly controller: AbortController;
  readonly slow: Gated;
  readonly stall: Stalled;
  /** Lets the agent of the user's own say what nobody reads. */
  readonly goOn: () => void;
  /** Whose `finally` blocks have run. */
  readonly closed: string[];
}

export async function createScene(runConfig: RunConfig = {}): Promise<Scene> {
  const [slow, stall, closed] = [new Gated('slow'), stalled('Half'), new Array<string>()];
  const {promise, resolve} = Promise.withResolvers<void>();
  const own = new Own('own', async function* ({abortSignal}: InvocationContext) {
    try {
      yield this.says('read');
      await promise;
      yield this.says('unread');
      await fired(abortSignal);
    } finally {
      closed.push(this.name);
    }
  });
  const agents = [own, speaker('a', [functionCalls({name: 'slow'})], [slow]), speaker('b', [stall.step]), speaker('d', ['D'])];
  const agent = new SequentialAgent({name: 'seq', subAgents: [new ParallelAgent({name: 'par', subAgents: agents}), speaker('next', [])]});
  const it = await stageOf(agent, {...streaming, ...runConfig});
  const controller = new AbortController();
  return {it, run: it.run('go', {abortSignal: controller.signal}), controller, slow, stall, goOn: resolve, closed};
}

/** Reads until all is under way; then one Event waits for its reader, or, if `isPending`, the reader for an Event. */
export async function begin({run, slow, stall, goOn}: Scene, isPending = false): Promise<{readonly pending: Promise<unknown> | undefined}> {
  const events: Event[] = [];
  while (events.length < 4) events.push((await run.next()).value as Event);
  expect(events.map(told).toSorted()).toEqual([
    '(par.a) a: slow({})',
    '(par.b) b: "Half" [partial]',
    '(par.d) d: "D"',
    '(par.own) own: "read"',
  ]);
  await Promise.all([slow.started, stall.streamed]);
  goOn();
  await idle();
  if (!isPending) return {pending: undefined};
  expect(told((await run.next()).value as Event)).toBe('(par.own) own: "unread"');
  const pending = run.next().catch((error: unknown) => error);
  await idle();
  return {pending};
}

/** All that was done is stored, once; all that ran was told; nothing is left, and nothing comes late. */
export async function expectStopped({it, slow, stall, closed, controller}: Scene): Promise<void> {
  const stored = await it.stored();
  expect(stored.map(told).toSorted()).toEqual([
    '(par.a) a: slow({})',
    `(par.a) a: slow=${CANCELLED}`,
    '(par.b) b: "Half" [stopped]',
    '(par.d) d: "D"',
    '(par.own) own: "read"',
    '(par.own) own: "unread"',
    'user: "go"',
  ]);
  expectPaired(stored);
  expect([slow.signal?.aborted, stall.signals.map((signal) => signal?.aborted)]).toEqual([true, [true]]);
  expect([closed, it.diagnostics]).toEqual([['own'], []]);
  expectNoListeners(controller.signal);
  await idle();
  expect(await it.stored()).toEqual(stored);
}
