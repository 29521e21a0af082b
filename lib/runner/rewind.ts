import {resolveRunConfig} from '../agents/run-config.ts';
import {USER_PREFIX} from '../artifacts/base-artifact-service.ts';
import {expectOption} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import {setOwn} from '../schema/json-copy.ts';
import {checkOptions, isName, type OptionSpec} from '../schema/options.ts';
import {startOf} from '../sessions/rewound.ts';
import type {SessionKey} from '../sessions/session.ts';
import {State} from '../sessions/state.ts';
import {inProcessEngine} from '../steps/in-process-steps.ts';
import type {Steps} from '../steps/steps.ts';
import {openSession} from './open-session.ts';
import type {RunLife, RunSetup} from './run-life.ts';
import {runOptions, type RunRequest} from './run-request.ts';
import {runSetup, type RunHost} from './run-setup.ts';
import type {Run} from './run.ts';

/** What `runner.rewind` takes. */
export interface RewindRequest extends Pick<RunRequest, 'userId' | 'sessionId' | 'abortSignal'> {
  /** The first run to take back: the `invocationId` of its Events. */
  readonly rewindBeforeInvocationId: string;
}

const {runConfig: _ofRuns, ...whose} = runOptions;
const OPTIONS: OptionSpec<RewindRequest> = {...whose, rewindBeforeInvocationId: isName};

/**
 * Takes runs back; see {@link Runner.rewind}. It takes its turn on the session as a run does, and is stopped as one.
 *
 * @param start - makes a run of the runner's
 */
export async function rewind(host: RunHost, start: (prepare: (run: Run) => RunSetup) => Run, request: RewindRequest): Promise<Event> {
  const run = start((it) => {
    checkOptions('request', request, OPTIONS);
    const config = resolveRunConfig([host.runConfig], host.unused);
    return runSetup(host, it, {request, config, exclusive: false}, (life) =>
      inProcessEngine.drive((steps) => takeBack(host, it.invocationId, request, {steps, life})),
    );
  });
  const {value} = await run.next();
  await run.return();
  return value as Event;
}

interface Attempt {
  readonly steps: Steps;
  readonly life: RunLife;
}

async function* takeBack(
  host: RunHost,
  invocationId: string,
  {rewindBeforeInvocationId, userId, sessionId}: RewindRequest,
  {steps, life}: Attempt,
): AsyncGenerator<Event, void, undefined> {
  const {appName, sessionService: service} = host;
  const key = {appName, userId, sessionId};
  const writer = await openSession({service, appName, request: key, create: false, steps, life});
  life.use(writer);
  const {events, state} = writer.session;
  const start = startOf(events, rewindBeforeInvocationId);
  expectOption(
    start < events.length,
    'request.rewindBeforeInvocationId',
    'the invocationId of a run of the session',
    rewindBeforeInvocationId,
  );
  const leave = life.shared.open.enter({name: 'stores'});
  const [kept, taken] = [events.slice(0, start), events.slice(start)];
  let before: Values;
  let artifactDelta: Record<string, number>;
  try {
    before = stateAfter((await service.getInitialState?.(key)) ?? {}, kept);
    artifactDelta = await restoreArtifacts(host, key, kept, taken);
  } finally {
    leave();
  }
  life.life.throwIfEnded();
  const actions = {rewindBeforeInvocationId, stateDelta: restoringDelta(state, before, taken), artifactDelta};
  yield await writer.append(createEvent({invocationId, author: 'user', actions}), steps);
}

type Values = Readonly<Record<string, unknown>>;

function stateAfter(initial: Values, events: readonly Event[]): Values {
  const state = {...initial};
  for (const {actions} of events) for (const [key, value] of Object.entries(actions.stateDelta)) setOwn(state, key, value);
  return state;
}

/** Brings the session's own keys back to what they were. Those of the user and of the app belong to other sessions too. */
function restoringDelta(now: Values, before: Values, taken: readonly Event[]): Record<string, unknown> {
  const delta: Record<string, unknown> = {};
  for (const key of new Set(taken.flatMap(({actions}) => Object.keys(actions.stateDelta)))) {
    if (key.startsWith(State.APP_PREFIX) || key.startsWith(State.USER_PREFIX)) continue;
    const value = Object.hasOwn(before, key) ? before[key] : State.REMOVED;
    if (value !== State.REMOVED || Object.hasOwn(now, key)) setOwn(delta, key, value);
  }
  return delta;
}

/**
 * Saves what the session's files were once more. A version is never lost: a file that was not there becomes an empty one, as in ADK. One that
 * no run had saved before was there if it has a version before the first that is taken back.
 */
async function restoreArtifacts(
  {services: {artifactService: service}}: RunHost,
  key: SessionKey,
  kept: readonly Event[],
  taken: readonly Event[],
): Promise<Record<string, number>> {
  const restored: Record<string, number> = {};
  if (!service) return restored;
  const before = new Map(kept.flatMap(({actions}) => Object.entries(actions.artifactDelta)));
  const first = new Map(taken.toReversed().flatMap(({actions}) => Object.entries(actions.artifactDelta)));
  for (const [filename, saved] of first) {
    if (filename.startsWith(USER_PREFIX)) continue;
    const version = before.get(filename) ?? saved - 1;
    const artifact = version < 0 ? undefined : await service.loadArtifact({...key, filename, version});
    setOwn(restored, filename, await service.saveArtifact({...key, filename, artifact: artifact ?? {text: ''}}));
  }
  return restored;
}
