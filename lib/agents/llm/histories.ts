import type {Content} from '../../content.ts';
import type {Event} from '../../events/event.ts';
import {History, type HistoryOptions} from './history.ts';

/**
 * One agent's histories, kept from one run on a session to the next, so that a turn costs what was said since the last one and not the
 * whole conversation.
 *
 * A history is found by the last Event that it has read: a store that keeps its Events in memory hands out the same frozen objects at
 * every read. A store that makes new ones never finds one, and its runs read from the start. Nothing in a history depends on a run: its
 * contents follow from the Events alone. It goes with the session's Events.
 */
export class Histories {
  readonly #byLastEvent = new WeakMap<Event, History>();
  readonly #agent: Omit<HistoryOptions, 'branch'>;

  constructor(agent: Omit<HistoryOptions, 'branch'>) {
    this.#agent = agent;
  }

  /** A history for a run over these Events. No other run has it. */
  take(branch: string | undefined, events: readonly Event[]): History {
    for (let at = events.length - 1; at >= 0; at--) {
      const event = events[at] as Event;
      const history = this.#byLastEvent.get(event);
      if (!history || history.branch !== branch || history.read !== at + 1) continue;
      this.#byLastEvent.delete(event);
      return history;
    }
    return new History({...this.#agent, branch});
  }

  /** The contents for a request over these Events; the history can then be taken by a later run. */
  contents(history: History, events: readonly Event[]): Content[] {
    this.#byLastEvent.delete(events[history.read - 1] as Event);
    const contents = history.contents(events);
    const last = events[history.read - 1];
    if (last) this.#byLastEvent.set(last, history);
    return contents;
  }
}
