import {isDeepStrictEqual} from 'node:util';
import {LlmAgent} from '../../agents/llm/llm-agent.ts';
import {getFunctionResponses, type Event} from '../../events/event.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import {tell} from './tell.ts';
import type {Observed} from './observed.ts';
import {demand} from './schedule-error.ts';
import {agentsOf, runsBranches} from './scenario.ts';
import type {WatchedCall} from './watch.ts';

/** Every response tells what really became of its call: nothing that was done is lost, and nothing is made up. */
export function checkAnswers(observed: Observed, own: readonly Event[]): void {
  const {watch, outcome, limits, scenario} = observed;
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
        demand(
          (outcome.kind !== 'done' && outcome.kind !== 'waiting') || runsBranches(scenario),
          'invented',
          () => `${place} says cancelled, and nobody stopped the run`,
        );
        checkCancelled({call, response, place, graceMs: limits.abortGraceMs, hooked});
      } else if (!hooked) checkSettled(call, response, place);
    }
  }
}

interface CancelledAnswer {
  readonly call: WatchedCall | undefined;
  readonly response: Record<string, unknown>;
  readonly place: string;
  readonly graceMs: number;
  readonly hooked: boolean;
}

function isCancelled({error}: Record<string, unknown>): boolean {
  return typeof error === 'string' && error.startsWith('cancelled');
}

function checkCancelled({call, response, place, graceMs, hooked}: CancelledAnswer): void {
  const expected = call ? {error: 'cancelled; it may have taken effect', started: true} : {error: 'cancelled', started: false};
  demand(
    isDeepStrictEqual(response, expected),
    'session',
    () => `${place} is ${tell(response)}; its body ${call ? 'had' : 'had not'} started`,
  );
  if (!call?.outcome || !call.ended || hooked) return;
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
