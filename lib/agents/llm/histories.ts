import type {Event} from '../../events/event.ts';
import {History, type HistoryOptions} from './history.ts';

/**
 * One agent's histories, kept from one run on a session to the next, so that a turn costs what was said since the last one and not the
 * whole conversation.
 *
 * A history is found by its session's first Event, and fits where the last Event that it has read still stands in its place: a store that
 * keeps its Events in memory hands out the same frozen objects at every read. A store that makes new ones never finds one, and its runs
 * read from the start. Nothing in a history depends on a run: its contents follow from the Events alone. It goes with the session's Events.
 */
export class Histories {
  readonly #byFirstEvent = new WeakMap<Event, History>();
  readonly #agent: Omit<HistoryOptions, 'branch'>;

  constructor(agent: Omit<HistoryOptions, 'branch'>) {
    this.#agent = agent;
  }

  /** A history for a run over these Events. As long as the run has it nobody else does. */
  take(branch: string | undefined, events: readonly Event[]): History {
    const [first] = events;
    const kept = first && this.#byFirstEvent.get(first);
    // Sessions that begin with one greeting share their first Event, and nothing else.
    if (first) this.#byFirstEvent.delete(first);
    return kept?.continues(events, branch) ? kept : new History({...this.#agent, branch});
  }

  /** The run over these Events is over. A later one on the same session can go on with its history. */
  keep(history: History, [first]: readonly Event[]): void {
    // Once for each run: a new key costs more than all else that is done for an Event here.
    if (first) this.#byFirstEvent.set(first, history);
  }
}
