import {confirmationOf} from '../../answers/confirmation.ts';
import {CallTracker} from './call-tracker.ts';
import type {Observed} from './observed.ts';
import {demand} from './schedule-error.ts';

/** No body runs twice in a run, without the word of the user where it needs that, or for a call of an earlier run that nobody has granted. */
export function checkBodies({events, run, watch}: Observed): void {
  const tracker = new CallTracker();
  for (const event of events) tracker.add(event);
  const ran = new Set<string>();
  for (const {kind, caller, name, functionCallId: id = '', needsConfirmation} of watch.calls) {
    if (kind !== 'tool' || caller !== 'run') continue;
    demand(!ran.has(id), 'granted', () => `${name}(${id}) ran twice`);
    ran.add(id);
    const grants = tracker.grants.filter(({callId}) => callId === id);
    const word = grants.findLast(({confirms}) => confirms);
    const isConfirmed = word !== undefined && confirmationOf(word.response).confirmed;
    demand(
      isConfirmed || !needsConfirmation,
      'granted',
      () => `${name}(${id}) ran, and the user ${word ? 'had refused it' : 'was not asked'}`,
    );
    const made = tracker.eventOf(id);
    const isGranted = grants.some(({invocationId}) => invocationId === run.invocationId);
    const isNew = made === undefined || made.invocationId === run.invocationId;
    demand(isNew || isGranted, 'granted', () => `${name}(${id}) of an earlier run ran again, and the user had granted nothing`);
  }
}
