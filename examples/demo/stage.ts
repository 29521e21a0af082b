import {InMemoryRunner, StreamingMode, type Event, type RunConfig, type Run} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {GeminiServer, ToolService, type GeminiReplySource} from 'sluice/testing';
import type {DemoOptions} from './command-line.ts';
import {services, travelAgent} from './travel-agent.ts';

export interface StageOptions extends DemoOptions {
  /** What the server on this machine answers. */
  readonly replies: readonly GeminiReplySource[];
}

/** The servers, the agent and one session of a section of the demo. */
export interface Stage extends AsyncDisposable {
  /** The server that plays Gemini; `undefined` when it is the real one. */
  readonly gemini: GeminiServer | undefined;
  readonly tools: ToolService;
  ask(text: string, options?: {runConfig?: RunConfig; abortSignal?: AbortSignal}): Run;
  /** What is stored. */
  events(): Promise<Event[]>;
}

export async function openStage({model, liveKey, replies}: StageOptions): Promise<Stage> {
  const gemini = liveKey === undefined ? await GeminiServer.start({replies}) : undefined;
  const tools = await ToolService.start({delayMs: ({path}) => services[path]?.delayMs ?? 400});
  const backend = gemini ? {apiKey: 'none', httpOptions: {baseUrl: gemini.url}} : {apiKey: liveKey};
  const agent = travelAgent(new Gemini({model, vertexai: false, ...backend}), tools.url);
  const runner = new InMemoryRunner({agent, appName: 'demo', runConfig: {streamingMode: StreamingMode.SSE}});
  const session = await runner.sessionService.createSession({appName: 'demo', userId: 'you'});
  const {appName, userId, id: sessionId} = session;
  return {
    gemini,
    tools,
    ask: (text, options) => runner.runAsync({userId, sessionId, newMessage: {role: 'user', parts: [{text}]}, ...options}),
    events: async () => (await runner.sessionService.getSession({appName, userId, sessionId}))?.events ?? [],
    async [Symbol.asyncDispose]() {
      await runner.close();
      await Promise.all([gemini?.close(), tools.close()]);
    },
  };
}
