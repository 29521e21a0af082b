/** A story told twice: in process, and on an engine that crashes after every step and replays. */
import {expect} from 'vitest';
import type {Event, Run, RunOutcome, RunRequest} from 'sluice';
import {collect, ReplayEngine} from 'sluice/testing';
import {expectValid, stage, type Stage, type StageOptions} from './kit.ts';

/** What user code really did, line by line. */
export type Log = string[];

export interface Story extends StageOptions {
  /** What is said, one run each. Default: `go`. */
  readonly says?: readonly (string | Partial<RunRequest>)[];
  /** Reads a run. Default: to its end. */
  readonly read?: (run: Run, told: Told, it: Stage) => Promise<void>;
  /** Whether the run was stopped: no record says when that was, so nothing can be replayed from then on. Default: never. */
  readonly isStopped?: () => boolean;
}

/** What a reader, the store, the model and the user's code know at the end of a story. */
export interface Told {
  readonly events: Event[];
  readonly errors: unknown[];
  readonly outcomes: RunOutcome[];
  readonly log: Log;
  stored: Event[];
  state: Record<string, unknown>;
  /** What the model was asked. */
  requests: unknown[];
  diagnostics: string[];
}

/** Tells a story on both, and compares all that is known at the end, but for ids and times. */
export async function tellTwice(story: (log: Log) => Story): Promise<{told: Told; engine: ReplayEngine}> {
  const {told: plain} = await tell(story, false);
  const again = await tell(story, true);
  expect(withoutIds(again.told)).toEqual(withoutIds(plain));
  return again;
}

async function tell(story: (log: Log) => Story, crashes: boolean): Promise<{told: Told; engine: ReplayEngine}> {
  const log: Log = [];
  const {says = ['go'], read = readAll, isStopped = () => false, ...options} = story(log);
  const engine = new ReplayEngine({crash: () => !isStopped()});
  const it = await stage({...options, runner: {...options.runner, ...(crashes && {stepEngine: engine})}});
  const told: Told = {events: [], errors: [], outcomes: [], log, stored: [], state: {}, requests: [], diagnostics: []};
  for (const said of says) {
    const run = typeof said === 'string' ? it.run(said) : it.run('', said);
    await read(run, told, it);
    told.outcomes.push(await run.settled);
  }
  told.stored = await it.stored();
  told.state = await it.state();
  told.requests = it.model.requests.map(({contents, config}) => ({contents, config}));
  told.diagnostics = it.diagnostics.map(({code, message}) => `${code} ${message}`);
  expectValid(told.stored);
  return {told, engine};
}

/** Reads a run to its end, whichever. */
export async function readAll(run: Run, told: Told): Promise<void> {
  const {events, ...rest} = await collect(run);
  told.events.push(...events);
  if ('error' in rest) told.errors.push(rest.error);
}

/** A copy in which each id is numbered by where it comes up first, and no time stands. */
function withoutIds(value: unknown): unknown {
  const names = new Map<string, string>();
  const nameOf = (id: string): string => {
    if (!names.has(id)) names.set(id, `#${names.size}`);
    return names.get(id) ?? '';
  };
  const uuid = /(?:adk-|e-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
  const copy = (it: unknown, key = ''): unknown => {
    if (key === 'timestamp') return 0;
    if (typeof it === 'string') return it.replace(uuid, nameOf);
    if (typeof it !== 'object' || it === null || it instanceof Error) return it;
    if (Array.isArray(it)) return it.map((item) => copy(item));
    return Object.fromEntries(Object.entries(it).map(([name, item]) => [name, copy(item, name)]));
  };
  return copy(value);
}
