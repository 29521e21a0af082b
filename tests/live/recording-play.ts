/** Plays recorded sessions to live runs. */
import {getEventListeners} from 'node:events';
import {
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  type AppendEventRequest,
  type Event,
  type Run,
  type RunOutcome,
} from 'sluice';
import {Gemini, type LiveFrame} from 'sluice/gemini';
import {GeminiLiveServer, recording, type LiveServerSession} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import {agentOf, loginOf, runConfigOf, say, seed, type RanCall} from './recording-cast.ts';
import {piecesOfEvent, piecesOfFrame} from './recording-pieces.ts';
import {relayTo, type Reframing} from './recording-relay.ts';
import {inCamelCase, type ClientMessage, type RecordedSession} from './recording-sessions.ts';

export interface PlayOptions {
  /** Whether empty messages come between the others, as from Google's server. Default: yes. */
  readonly noise?: boolean;
  /** Whether the server puts what it says at once into one TCP write. Default: no. */
  readonly together?: boolean;
  /** How what the server sends is framed anew on its way. Default: not at all. */
  readonly reframing?: Reframing;
  /** Whether nothing is read before everything has arrived. Default: no. */
  readonly late?: boolean;
  /** Whether a hook sees, slowly, what the model says, and the store is slow. Default: no. */
  readonly slow?: boolean;
  /** After how many Events the reader leaves. Default: after all that the recording tells. */
  readonly leaveAfter?: number;
}

/** What became of a live run. */
export interface Played {
  readonly events: readonly Event[];
  readonly outcome: RunOutcome;
  readonly stored: readonly Event[];
  /** What the server got. */
  readonly sent: readonly ClientMessage[];
  /** The server's side of each connection, all of them closed. */
  readonly connections: readonly LiveServerSession[];
  /** The calls as the tools saw them. */
  readonly ran: readonly RanCall[];
  /** Listeners left on the caller's signal. */
  readonly listeners: number;
  readonly queue: LiveRequestQueue;
}

/** Plays a session to a run. It ends by itself if the recording is whole, and is left after the last thing that it tells if not. */
export async function play(session: RecordedSession, options: PlayOptions = {}): Promise<Played> {
  const {noise = true, together = false, reframing, slow = false} = options;
  await using server = await GeminiLiveServer.start({noise});
  server.session(together ? inOneWrite(session) : recording(session.playable));
  await using relay = reframing ? await relayTo(server.url, reframing) : undefined;
  const arrived = arrivals(session.server.filter((message) => Object.keys(message).length > 0).length);
  const ran: RanCall[] = [];
  const model = new Gemini({...loginOf(session), httpOptions: {baseUrl: (relay ?? server).url}, onLiveFrame: arrived.onLiveFrame});
  const agent = new LlmAgent({...agentOf(session, ran), model, ...(slow && {afterModelCallback: idle})});
  const sessionService = new WatchedSessionService(slow);
  const runner = new Runner({agent, appName: 'app', sessionService});
  await seed(runner, session);
  const liveRequestQueue = new LiveRequestQueue();
  for (const message of session.client) say(liveRequestQueue, message);
  if (session.isWhole) liveRequestQueue.close();
  const {signal: abortSignal} = new AbortController();
  await using run = runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, runConfig: runConfigOf(session), abortSignal});
  const events = await read(run, session, {...options, all: arrived.all, stored: sessionService.stored});
  await Promise.all(server.sessions.map(({closed}) => closed));
  const stored = (await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? [];
  return {
    events,
    outcome: await run.settled,
    stored,
    sent: server.sessions.flatMap(({received}) => received.map(({body}) => inCamelCase(body))),
    connections: [...server.sessions],
    ran,
    listeners: getEventListeners(abortSignal, 'abort').length,
    queue: liveRequestQueue,
  };
}

interface Watched {
  /** Resolves when everything has arrived. */
  readonly all: Promise<void>;
  /** The ids of what is stored so far. */
  readonly stored: ReadonlySet<string>;
}

/** Reads all that the recording tells, or so much of it, and leaves. */
async function read(run: Run, session: RecordedSession, options: PlayOptions & Watched): Promise<Event[]> {
  const {late, leaveAfter = Infinity, all, stored} = options;
  const events: Event[] = [];
  let left = session.server.flatMap(piecesOfFrame).length;
  let next = run.next();
  if (late) {
    await all;
    await idle();
  }
  while ((left > 0 || session.isWhole) && events.length < leaveAfter) {
    const {done, value} = await next;
    if (done) break;
    if (!value.partial && !stored.has(value.id)) throw new Error(`Event ${events.length} was shown before it was stored`);
    events.push(value);
    left -= piecesOfEvent(value).length;
    // One read is always pending: when the reader leaves it is told that the run is over.
    next = run.next();
  }
  if (leaveAfter === Infinity) await all;
  await run.return();
  if (!(await next).done) throw new Error('The run went on after its reader had left');
  return events;
}

/** Knows what it has stored; a slow one mostly takes longer for an Event than for the one after it. */
class WatchedSessionService extends InMemorySessionService {
  readonly stored = new Set<string>();
  readonly #slow: boolean;
  #appends = 0;

  constructor(slow: boolean) {
    super();
    this.#slow = slow;
  }

  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    const turns = this.#slow ? 30 - 10 * (this.#appends++ % 3) : 0;
    for (let turn = 0; turn < turns; turn++) await idle();
    this.stored.add(request.event.id);
    return super.appendEvent(request);
  }
}

/** Resolves when so many messages that are not empty have arrived. */
function arrivals(count: number): {readonly all: Promise<void>; readonly onLiveFrame: (frame: LiveFrame) => void} {
  const {promise: all, resolve} = Promise.withResolvers<void>();
  let seen = 0;
  const onLiveFrame = ({direction, data}: LiveFrame): void => {
    if (direction !== 'received' || data.trim() === '{}') return;
    seen += 1;
    if (seen === count) resolve();
  };
  return {all, onLiveFrame};
}

/** The recording, where what the server says without waiting for anything goes out in one write. */
function inOneWrite({playable}: RecordedSession): (session: LiveServerSession) => Promise<void> {
  return async (session) => {
    const script = recording(playable);
    if (typeof script !== 'function') throw new TypeError('expected `recording` to give a function');
    let held: Readonly<Record<string, unknown>>[] = [];
    const flush = (): void => {
      session.together(() => held.forEach((message) => session.send(message)));
      held = [];
    };
    const send = (message: Readonly<Record<string, unknown>>): unknown => held.push(message);
    const next: LiveServerSession['next'] = (kind) => (flush(), session.next(kind));
    await script({send, next} as unknown as LiveServerSession);
    flush();
  };
}
