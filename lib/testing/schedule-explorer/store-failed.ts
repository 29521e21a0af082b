import type {Observed} from './observed.ts';

/** Whether the store lost a write of the run, or came to it too late: then it says nothing about the run. */
export function storeFailed({watch, settled}: Observed): boolean {
  return watch.calls.some(
    ({kind, caller, outcome, ended}) =>
      kind === 'store' && caller === 'run' && (!outcome || 'error' in outcome || (ended && ended.order > settled.order)),
  );
}
