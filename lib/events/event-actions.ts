import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkedCopy, frozenCopy, setOwn} from '../schema/json-copy.ts';

/** What an Event does besides saying something. */
export interface EventActions {
  /** State keys that change, with their scope prefix; a removed key has the value `State.REMOVED`. */
  stateDelta: Record<string, unknown>;
  /** Artifacts that were saved: file name to version. */
  artifactDelta: Record<string, number>;
  /** Credentials that a tool asks for, by function call id. */
  requestedAuthConfigs: Record<string, unknown>;
  /** Confirmations that a tool asks for, by function call id. */
  requestedToolConfirmations: Record<string, unknown>;
  /** `true`: the model is not asked to comment on the function responses of this Event; the run ends with it. */
  skipSummarization?: boolean;
  /** The agent that takes over. */
  transferToAgent?: string;
  /** `true`: the agent above is asked to act, for example to leave its loop. */
  escalate?: boolean;
  /** `true`: the agent that wrote this Event is finished. */
  endOfAgent?: boolean;
  /** Takes back the run of this id and all after it: later runs do not see their Events. Written by `runner.rewind`. */
  rewindBeforeInvocationId?: string;
}

/** A full set of actions: what `actions` says, and empty records for the rest. */
export function createEventActions(actions: Partial<EventActions> = {}): EventActions {
  return {
    ...actions,
    stateDelta: actions.stateDelta ?? {},
    artifactDelta: actions.artifactDelta ?? {},
    requestedAuthConfigs: actions.requestedAuthConfigs ?? {},
    requestedToolConfirmations: actions.requestedToolConfirmations ?? {},
  };
}

/** Whether one of these calls asks the user of the app, who answers in a later run. */
export function asksUser({requestedToolConfirmations, requestedAuthConfigs}: EventActions, calls: readonly {id?: string}[]): boolean {
  const asked = {...requestedToolConfirmations, ...requestedAuthConfigs};
  return calls.some(({id = ''}) => Object.hasOwn(asked, id));
}

/** One set of actions out of several, in their order: records are merged key by key, the later value wins, lists are never joined. */
export function mergeEventActions(sources: readonly Partial<EventActions>[]): EventActions {
  const merged = createEventActions();
  if (sources.length === 1 && sources[0] && isIdle(sources[0])) return merged;
  for (const source of sources) {
    for (const key of Object.keys(source)) {
      const [value, present] = [source[key as keyof EventActions], merged[key as keyof EventActions]];
      if (isRecord(value) && isRecord(present)) for (const name of Object.keys(value)) setOwn(present, name, value[name]);
      else if (value !== undefined) setOwn(merged as unknown as Record<string, unknown>, key, value);
    }
  }
  return merged;
}

/**
 * One set of actions out of several that user code has written to, as plain JSON of its own.
 *
 * @throws {@link InvalidOptionError} for what JSON cannot hold, or a record that is none
 */
export function plainActions(sources: readonly EventActions[]): EventActions {
  const [only] = sources;
  const actions = sources.length === 1 && only ? only : mergeEventActions(sources);
  if (isIdle(actions)) return createEventActions();
  for (const key of ['stateDelta', 'artifactDelta', 'requestedAuthConfigs', 'requestedToolConfirmations'] as const) {
    expectOption(isRecord(actions[key]), `actions.${key}`, 'an object', actions[key]);
  }
  return checkedCopy(actions, 'actions');
}

/** What a partial Event does, which is nothing: one record says so for all of them. */
export const NO_ACTIONS: EventActions = frozenCopy(createEventActions());

/** Whether actions do nothing. */
export function isIdle(actions: Partial<EventActions>): boolean {
  return Object.values(actions).every((value) => value === undefined || (isRecord(value) && Object.keys(value).length === 0));
}
