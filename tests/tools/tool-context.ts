import {Lifetime} from '../../lib/async/lifetime.ts';
import {Context} from '../../lib/context/context.ts';
import {createEventActions} from '../../lib/events/event-actions.ts';

/** A context as a run makes it for one call. */
export function toolContext(life: Lifetime = new Lifetime()): Context {
  const session = {id: 's', appName: 'app', userId: 'u', state: {unit: 'C'}, events: [], lastUpdateTime: 0};
  return new Context({
    source: {invocationId: 'i', agentName: 'weather', session},
    actions: createEventActions(),
    life,
    functionCallId: 'call-1',
  });
}
