/** Plays recorded sessions to live runs. */
import {getEventListeners} from 'node:events';
import {
  createEvent,
  FunctionTool,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  type AppendEventRequest,
  type Event,
  type FunctionResponse,
  type LlmAgentConfig,
  type Run,
  type RunConfig,
  type RunOutcome,
  type Schema,
} from 'sluice';
import {Gemini, type GeminiOptions, type LiveFrame} from 'sluice/gemini';
import {GeminiLiveServer, recording, type LiveServerSession} from 'sluice/testing';
import {authClient} from '../gemini/live/connecting.ts';
import {idle} from '../stories/kit.ts';
import {piecesOfEvent, piecesOfFrame} from './recording-pieces.ts';
import {relayTo, type Reframing} from './recording-relay.ts';
import {inCamelCase, type ClientMessage, type ClientTool, type RecordedSession} from './recording-sessions.ts';

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

interface RanCall {
  readonly name: string;
  readonly args: object;
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
  const runner = new Runner({agent, appName: 'app', sessionService: slow ? new SlowSessionService() : new InMemorySessionService()});
  await seed(runner, session);
  const liveRequestQueue = new LiveRequestQueue();
  for (const message of session.client) say(liveRequestQueue, message);
  if (session.isWhole) liveRequestQueue.close();
  const {signal: abortSignal} = new AbortController();
  await using run = runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, runConfig: runConfigOf(session), abortSignal});
  const events = await read(run, session, options, arrived.all);
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

/** Reads all that the recording tells, or so much of it, and leaves. */
async function read(run: Run, session: RecordedSession, {late, leaveAfter = Infinity}: PlayOptions, all: Promise<void>): Promise<Event[]> {
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

class SlowSessionService extends InMemorySessionService {
  override async appendEvent(request: AppendEventRequest): Promise<Event> {
    await idle();
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

function agentOf({client}: RecordedSession, ran: RanCall[]): Pick<LlmAgentConfig, 'name' | 'instruction' | 'tools'> {
  const setup = client.find(({setup}) => setup)?.setup;
  const answers = client.flatMap(({toolResponse}) => toolResponse?.functionResponses ?? []);
  const declared = (setup?.tools ?? []).flatMap(({functionDeclarations}) => functionDeclarations);
  return {
    name: 'root',
    instruction: (setup?.systemInstruction?.parts ?? []).map(({text}) => text).join(''),
    tools: declared.map((tool) => toolOf(tool, answers, ran)),
  };
}

/** The model, and whatever login leads to the resource name that was recorded. */
function loginOf({client}: RecordedSession): GeminiOptions {
  const resource = client.find(({setup}) => setup)?.setup?.model ?? 'models/gemini-live-test';
  const model = resource.split('/').at(-1) ?? '';
  const [, project, location] = /^projects\/(.+)\/locations\/(.+)\/publishers\//.exec(resource) ?? [];
  if (project === undefined) return {model, apiKey: 'k', vertexai: resource.startsWith('publishers/')};
  const googleAuthOptions = {authClient: authClient(async () => new Headers({authorization: 'Bearer T'}))};
  return {model, vertexai: true, project, location, googleAuthOptions};
}

/** Gives what the recorded client answered, call by call. What it did not answer any more runs until the run is over. */
function toolOf(tool: ClientTool, answers: readonly FunctionResponse[], ran: RanCall[]): FunctionTool<Schema> {
  const left = answers.filter(({name}) => name === tool.name);
  return new FunctionTool({
    ...tool,
    execute: (args, {abortSignal}) => {
      ran.push({name: tool.name, args});
      return left.shift()?.response ?? new Promise((_, reject) => abortSignal.addEventListener('abort', reject));
    },
  });
}

/** What the recorded client had asked for, and nothing else where that can be turned off. Without a setup: what a run asks for by itself. */
function runConfigOf({client}: RecordedSession): RunConfig {
  const setup = client.find(({setup}) => setup)?.setup;
  if (!setup) return {};
  return {
    responseModalities: setup.generationConfig?.responseModalities,
    inputAudioTranscription: setup.inputAudioTranscription ?? false,
    outputAudioTranscription: setup.outputAudioTranscription ?? false,
    sessionResumption: false,
    ...(setup.realtimeInputConfig && {realtimeInputConfig: setup.realtimeInputConfig}),
  };
}

/** What was said before, of which the recorded client told the server at first. */
async function seed(runner: Runner, {client}: RecordedSession): Promise<void> {
  const session = await runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  for (const content of client.flatMap(({clientContent}) => (clientContent?.turnComplete === false ? (clientContent.turns ?? []) : []))) {
    await runner.sessionService.appendEvent({session, event: createEvent({author: content.role === 'model' ? 'root' : 'user', content})});
  }
}

/** Says again what the recorded user said. */
function say(queue: LiveRequestQueue, {clientContent, realtimeInput}: ClientMessage): void {
  if (clientContent?.turnComplete) for (const content of clientContent.turns ?? []) void queue.sendContent(content);
  const {audio, text, activityStart, activityEnd, mediaChunks = []} = realtimeInput ?? {};
  if (activityStart) void queue.sendActivityStart();
  for (const blob of [...(audio ? [audio] : []), ...mediaChunks]) void queue.sendRealtime(blob);
  if (text !== undefined) void queue.sendRealtime({text});
  if (activityEnd) void queue.sendActivityEnd();
}
