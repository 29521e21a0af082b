import {InMemoryRunner, LiveRequestQueue, type Event, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {GeminiLiveServer, ToolService, type LiveScript} from 'sluice/testing';
import type {DemoOptions} from '../demo/command-line.ts';
import {concierge, delayOf, type SeenCall} from './concierge.ts';
import {FrameLog} from './frame-log.ts';
import {LiveEventPrinter} from './live-event-printer.ts';
import {describeSpeech, speak} from './sound.ts';

/** The servers, the agent and one live run of a section of the demo. */
export interface Stage extends AsyncDisposable {
  /** The server that plays the Live API; `undefined` when it is the real one. */
  readonly gemini: GeminiLiveServer | undefined;
  readonly tools: ToolService;
  readonly frames: FrameLog;
  readonly calls: readonly SeenCall[];
  readonly printer: LiveEventPrinter;
  readonly queue: LiveRequestQueue;
  readonly run: Run;
  /** Begins to say something: aloud to the server on this machine, which knows the text, and in writing to the real API. */
  say(text: string): void;
  /** What is stored. */
  events(): Promise<Event[]>;
}

/** @param sessions - what the server does on one connection after the other */
export async function openStage({model, liveKey}: DemoOptions, ...sessions: readonly LiveScript[]): Promise<Stage> {
  const gemini = liveKey === undefined ? await GeminiLiveServer.start({sessions}) : undefined;
  const tools = await ToolService.start({delayMs: delayOf});
  const frames = new FrameLog();
  const calls: SeenCall[] = [];
  const backend = gemini ? {apiKey: 'of-no-account', httpOptions: {baseUrl: gemini.url}} : {apiKey: liveKey};
  const live = new Gemini({model, vertexai: false, onLiveFrame: frames.onLiveFrame, ...backend});
  const agent = concierge({model: live, serviceUrl: tools.url, calls});
  const runner = new InMemoryRunner({agent, appName: 'demo', runConfig: {timeoutMs: 60_000}});
  const session = await runner.sessionService.createSession({appName: 'demo', userId: 'you'});
  const {appName, userId, id: sessionId} = session;
  const queue = new LiveRequestQueue();
  const printer = new LiveEventPrinter(frames.start);
  return {
    gemini,
    tools,
    frames,
    calls,
    printer,
    queue,
    run: runner.runLive({userId, sessionId, liveRequestQueue: queue}),
    say: (text) => {
      printer.user(text, gemini && describeSpeech(text));
      // As realtime input, for there are models that take a turn as history, and refuse it later.
      void (gemini ? speak(queue, text) : queue.sendRealtime({text}));
    },
    events: async () => (await runner.sessionService.getSession({appName, userId, sessionId}))?.events ?? [],
    async [Symbol.asyncDispose]() {
      await runner.close();
      await Promise.all([gemini?.close(), tools.close()]);
    },
  };
}
