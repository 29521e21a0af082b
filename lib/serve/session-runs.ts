import type {Run} from '../runner/run.ts';
import type {SessionKey} from '../sessions/session.ts';
import {EventGoneError} from './stream/feed-reader.ts';
import {RunFeed} from './stream/run-feed.ts';

/** The runs that a handler has started, by their sessions. */
export class SessionRuns {
  readonly #sessions = new Map<string, Set<OpenRun>>();
  readonly #onError: (error: unknown) => void;

  constructor(onError: (error: unknown) => void) {
    this.#onError = onError;
  }

  /** Knows a run while it is under way, and holds its request: a host may let go of a request's signal together with the request. */
  add(key: SessionKey, run: Run, request: Request): void {
    const remove = this.#add(key, {run, request});
    void run.settled.then(remove);
  }

  /**
   * As `add`, for a run that goes on without its reader: starts it, and keeps its feed for some time after its end.
   *
   * @throws what the run failed with at once
   */
  async startFeed(key: SessionKey, run: Run): Promise<RunFeed> {
    const feed = new RunFeed(run, {onExpire: () => remove(), onError: this.#onError});
    const remove = this.#add(key, {run, feed});
    try {
      await feed.start();
    } catch (error) {
      remove();
      throw error;
    }
    return feed;
  }

  /** The ids of the runs of a session that are under way, in the order in which they were asked for. */
  running(key: SessionKey): string[] {
    return this.#of(key).flatMap(({run, feed}) => (feed?.ended ? [] : [run.invocationId]));
  }

  /** Lets go of the feeds of a session that is no more: nobody reads on there, least of all in another session of its id. */
  dropFeeds(key: SessionKey): void {
    const entries = this.#sessions.get(nameOf(key));
    for (const entry of entries ?? []) if (entry.feed) entries?.delete(entry);
  }

  /** The feed that holds an Event; without one that of the run under way, else of the last run. `undefined` where there is none. */
  attach(key: SessionKey, after: string | undefined, toResponse: (feed: RunFeed) => Response): Response | undefined {
    const feeds = this.#of(key).flatMap(({feed}) => feed ?? []);
    if (after === undefined) {
      const feed = feeds.find(({ended}) => !ended) ?? feeds.at(-1);
      return feed && toResponse(feed);
    }
    let gone: EventGoneError | undefined;
    for (const feed of feeds) {
      try {
        return toResponse(feed);
      } catch (error) {
        if (!(error instanceof EventGoneError)) throw error;
        gone = error;
      }
    }
    if (gone) throw gone;
    return undefined;
  }

  #of(key: SessionKey): OpenRun[] {
    return [...(this.#sessions.get(nameOf(key)) ?? [])];
  }

  #add(key: SessionKey, entry: OpenRun): () => void {
    const name = nameOf(key);
    const entries = this.#sessions.get(name) ?? new Set();
    this.#sessions.set(name, entries.add(entry));
    return () => {
      entries.delete(entry);
      if (entries.size === 0 && this.#sessions.get(name) === entries) this.#sessions.delete(name);
    };
  }
}

interface OpenRun {
  readonly run: Run;
  readonly request?: Request;
  readonly feed?: RunFeed;
}

function nameOf({appName, userId, sessionId}: SessionKey): string {
  return JSON.stringify([appName, userId, sessionId]);
}
