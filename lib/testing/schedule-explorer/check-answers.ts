import {isDeepStrictEqual} from 'node:util';
import {LlmAgent} from '../../agents/llm/llm-agent.ts';
import {asksUser} from '../../events/event-actions.ts';
import {getFunctionResponses, type Event} from '../../events/event.ts';
import {OUTPUT_TOOL} from '../../flow/output-format.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import {tell} from './tell.ts';
import type {Observed} from './observed.ts';
import {demand} from './schedule-error.ts';
import {agentsOf, runsBranches} from './scenario.ts';
import type {WatchedCall} from './watched-call.ts';

const TRANSFER_TOOL = 'transfer_to_agent';
/** The runtime's own tools: nobody sees their bodies. */
const BUILT_IN: ReadonlySet<string | undefined> = new Set([TRANSFER_TOOL, OUTPUT_TOOL]);

/** Every response tells what really became of its call: nothing that was done is lost, and nothing is made up. */
export function checkAnswers(observed: Observed, own: readonly Event[]): void {
  const {watch, limits, scenario} = observed;
  const hooked = agentsOf(scenario).some(
    (agent) =>
      agent instanceof LlmAgent && agent.beforeToolCallback.length + agent.afterToolCallback.length + agent.onToolErrorCallback.length > 0,
  );
  for (const event of own) {
    if (event.author === 'user') continue;
    for (const {id, name, response = {}} of getFunctionResponses(event)) {
      const call = watch.calls.find(({kind, functionCallId}) => kind === 'tool' && functionCallId === id);
      const place = `the response of ${name}(${id})`;
      if (isCancelled(response)) {
        demand(wasCutShort(observed), 'invented', () => `${place} says cancelled, and nobody stopped the run`);
        checkCancelled({call, response, place, graceMs: limits.abortGraceMs, hooked, isBuiltIn: BUILT_IN.has(name)});
      } else if (!hooked && !BUILT_IN.has(name)) checkSettled(call, response, place);
      const isLost = name === TRANSFER_TOOL && !('error' in response) && event.actions.transferToAgent === undefined;
      demand(!isLost, 'kept', () => `${place} is ${tell(response)}, and its Event hands over to nobody`);
    }
  }
}

/** Whether calls can have been left undone: a run was stopped, or a branch, or a hook had spoken in the place of who was to run them. */
function wasCutShort({outcome, scenario, watch}: Observed): boolean {
  if ((outcome.kind !== 'done' && outcome.kind !== 'waiting') || runsBranches(scenario)) return true;
  return watch.calls.some(
    (call) =>
      call.kind === 'hook' &&
      /^before(Run|Agent)Callback /.test(call.name) &&
      call.outcome &&
      'value' in call.outcome &&
      call.outcome.value !== undefined,
  );
}

interface CancelledAnswer {
  readonly call: WatchedCall | undefined;
  readonly response: Record<string, unknown>;
  readonly place: string;
  readonly graceMs: number;
  readonly hooked: boolean;
  readonly isBuiltIn: boolean;
}

function isCancelled({error}: Record<string, unknown>): boolean {
  return typeof error === 'string' && error.startsWith('cancelled');
}

const STARTED = {error: 'cancelled; it may have taken effect', started: true};
const NOT_STARTED = {error: 'cancelled', started: false};

function checkCancelled({call, response, place, graceMs, hooked, isBuiltIn}: CancelledAnswer): void {
  const expected = isBuiltIn ? [STARTED, NOT_STARTED] : [call ? STARTED : NOT_STARTED];
  demand(
    expected.some((answer) => isDeepStrictEqual(response, answer)),
    'session',
    () => `${place} is ${tell(response)}; its body ${call ? 'had' : 'had not'} started`,
  );
  if (!call?.outcome || !call.ended || hooked) return;
  // What it has given is provisional, and the user was never asked.
  if (call.actions && asksUser(call.actions, [{id: call.functionCallId ?? ''}])) return;
  const inTime = 'value' in call.outcome && call.ended.ms < (call.aborted?.ms ?? Infinity) + graceMs;
  demand(!inTime, 'kept', () => `${place} is ${tell(response)}, and its body had given ${tell((call.outcome as {value: unknown}).value)}`);
  const failed = 'error' in call.outcome && (!call.aborted || call.ended.turn < call.aborted.turn);
  demand(!failed, 'kept', () => `${place} is ${tell(response)}, and its body had thrown before the stop`);
}

function checkSettled(call: WatchedCall | undefined, response: Record<string, unknown>, place: string): void {
  if (!call || !call.outcome || !('value' in call.outcome)) {
    demand(
      'error' in response || response['status'] === 'pending',
      'invented',
      () => `${place} is ${tell(response)}, and its body gave no value`,
    );
    return;
  }
  const {value} = call.outcome;
  const isTimeout = typeof response['error'] === 'string' && response['error'].includes('did not end within');
  const expected = toFunctionResponse(value).response;
  const isPending = (value === undefined || value === null) && response['status'] === 'pending';
  demand(
    isDeepStrictEqual(response, expected) || isPending || isTimeout,
    'kept',
    () => `${place} is ${tell(response)}; its body gave ${tell(value)}`,
  );
}
