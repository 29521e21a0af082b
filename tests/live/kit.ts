/** A runner whose agent talks to a loopback server of the Live API, and what a test needs to see both of its sides. */
import {
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  type Content,
  type Context,
  type Event,
  type LlmAgentConfig,
  type Run,
  type RunConfig,
  type RunnerConfig,
  type RunOutcome,
} from 'sluice';
import {expect} from 'vitest';
import {Gemini, type GeminiOptions, type LiveFrame} from 'sluice/gemini';
import {collect, GeminiLiveServer, ScriptedLlm, type Collected, type GeminiLiveServerOptions, type LiveServerSession} from 'sluice/testing';
import type {LiveRunRequest} from '../../lib/runner/live-run-request.ts';
import {idle, stage, type Stage} from '../stories/kit.ts';

export interface LiveStageOptions {
  readonly agent?: Partial<LlmAgentConfig> | ((server: GeminiLiveServer) => Partial<LlmAgentConfig>);
  readonly gemini?: Partial<GeminiOptions>;
  readonly runConfig?: RunConfig;
  readonly runner?: Partial<RunnerConfig>;
  readonly server?: GeminiLiveServerOptions;
}

/** The model answers with text unless told otherwise, so that what it says is stored. */
export async function liveStage({agent = {}, gemini = {}, runConfig = {}, runner = {}, server}: LiveStageOptions = {}): Promise<LiveStage> {
  const at = await GeminiLiveServer.start({noise: false, ...server});
  const frames = new Frames();
  const model = liveModelAt(at, {onLiveFrame: (frame) => frames.add(frame), ...gemini});
  const config = typeof agent === 'function' ? agent(at) : agent;
  const it = await stage({agent: {model, ...config}, runner, runConfig: {responseModalities: ['TEXT'], ...runConfig}});
  return new LiveStage(at, it, frames);
}

/** What the client's side of the connections has seen. */
class Frames {
  readonly #received: string[] = [];
  readonly #waiting: (() => void)[] = [];

  add({direction, data}: LiveFrame): void {
    if (direction !== 'received') return;
    this.#received.push(data);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  async received(text: string): Promise<void> {
    while (!this.#received.some((data) => data.includes(text))) await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }
}

export function liveModelAt(server: GeminiLiveServer, options: Partial<GeminiOptions> = {}): Gemini {
  const httpOptions = {baseUrl: server.url, ...options.httpOptions};
  const auth = options.vertexai ? {} : {apiKey: 'test'};
  return new Gemini({model: 'gemini-live-2.5-flash-preview', ...auth, ...options, httpOptions});
}

/** Options of a model on Vertex AI, which gives calls no ids. */
export const vertex: Partial<GeminiOptions> = {
  vertexai: true,
  project: 'p',
  location: 'us-central1',
  googleAuthOptions: {authClient: {getRequestHeaders: async () => new Headers({authorization: 'Bearer T'})} as never},
};

export class LiveStage implements AsyncDisposable {
  readonly server: GeminiLiveServer;
  readonly stage: Stage;
  readonly queue: LiveRequestQueue = new LiveRequestQueue();
  readonly #frames: Frames;

  constructor(server: GeminiLiveServer, it: Stage, frames: Frames) {
    this.server = server;
    this.stage = it;
    this.#frames = frames;
  }

  /** Resolves when a message with this in it has reached the run, whatever became of it there. */
  async received(text: string): Promise<void> {
    await this.#frames.received(text);
    // The run reads it in one of the next turns of the loop.
    for (let turns = 0; turns < 3; turns++) await idle();
  }

  run(options: Partial<LiveRunRequest> = {}): Run {
    return this.stage.runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue: this.queue, ...options});
  }

  /** Starts a run and reads all that it brings. */
  read(options: Partial<LiveRunRequest> = {}): LiveReading {
    return new LiveReading(this.run(options));
  }

  say(text: string): Promise<void> {
    return this.queue.sendContent({role: 'user', parts: [{text}]});
  }

  /** Starts a run whose user has said something, which the server has heard. */
  async talk(text = 'hi', options: Partial<LiveRunRequest> = {}): Promise<{reading: LiveReading; session: LiveServerSession}> {
    const reading = this.read(options);
    void this.say(text);
    const session = await this.server.nextSession();
    await session.message('clientContent');
    return {reading, session};
  }

  /** A run of another kind on the same session, later or meanwhile: what it came to, and what its model was asked. */
  async chat(text: string, agent: Partial<LlmAgentConfig> = {}): Promise<{collected: Collected<Event, RunOutcome>; contents: Content[]}> {
    const model = new ScriptedLlm({steps: ['Hello again.']});
    const {sessionService} = this.stage.runner;
    const runner = new Runner({appName: 'app', sessionService, agent: new LlmAgent({name: 'root', model, ...agent})});
    const newMessage = {role: 'user', parts: [{text}]};
    const collected = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage}));
    return {collected, contents: model.requests[0]?.contents ?? []};
  }

  /** The model says a last word, and the user has nothing to say any more. */
  async finish(
    session: LiveServerSession,
    reading: LiveReading,
    queue: LiveRequestQueue = this.queue,
  ): Promise<Collected<Event, RunOutcome>> {
    session.say('Bye.');
    await reading.until('root: "Bye." [partial]');
    queue.close();
    session.completeTurn();
    return reading.end;
  }

  /** What is stored, one line for each Event. */
  async stored(): Promise<string[]> {
    return (await this.stage.stored()).map(liveLine);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage.runner.close({timeoutMs: 0});
    await this.server.close();
  }
}

/** A run that is read as fast as it goes. */
export class LiveReading {
  readonly run: Run;
  readonly events: Event[] = [];
  /** What it came to. */
  readonly end: Promise<Collected<Event, RunOutcome>>;
  readonly #waiting: (() => void)[] = [];
  #over = false;

  constructor(run: Run) {
    this.run = run;
    this.end = collect(Object.assign(this.#watch(run), {settled: run.settled})).finally(() => {
      this.#over = true;
      this.#wake();
    });
  }

  /** One line for each Event so far. */
  get lines(): string[] {
    return this.events.map(liveLine);
  }

  /** The first Event that fits, a line or what tells; at once or when it comes. Rejects when the run ends without one. */
  async until(fits: string | ((event: Event) => boolean)): Promise<Event> {
    const test = typeof fits === 'string' ? (event: Event): boolean => liveLine(event) === fits : fits;
    for (;;) {
      const found = this.events.find((event) => test(event));
      if (found) return found;
      if (this.#over) throw new Error(`The run is over, without ${String(fits)}: ${this.lines.join('\n')}`);
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
  }

  async *#watch(run: Run): AsyncGenerator<Event, void, undefined> {
    for await (const event of run) {
      this.events.push(event);
      this.#wake();
      yield event;
    }
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** The Events of `finish`. */
export const bye: readonly string[] = ['root: "Bye." [partial]', 'root: "Bye." [turn complete]'];

/** The lines of Events that are stored. */
export function whole(lines: readonly string[]): string[] {
  return lines.filter((line) => !/\[partial/.test(line));
}

/** An Event of a live run in one line: who, what, and the marks that matter. */
export function liveLine(event: Event): string {
  const {inputTranscription, outputTranscription, liveSessionResumptionUpdate: update} = event;
  const said = [
    ...(event.content?.parts ?? []).map(partText),
    inputTranscription && `heard:${JSON.stringify(inputTranscription.text)}`,
    outputTranscription && `spoke:${JSON.stringify(outputTranscription.text)}`,
  ].filter(Boolean);
  const marks = [
    event.partial && 'partial',
    event.interrupted && 'interrupted',
    event.generationComplete && 'generated',
    event.turnComplete && 'turn complete',
    event.toolCallCancellation && `cancels ${event.toolCallCancellation.ids?.join(' ')}`,
    event.goAway && `goes in ${event.goAway.timeLeft}`,
    update && `handle ${update.newHandle ?? ''}${update.resumable ? '' : ' (not resumable)'}`,
    event.liveSessionId && `session ${event.liveSessionId}`,
    event.usageMetadata && `${event.usageMetadata.totalTokenCount} tokens`,
    event.errorCode && `error ${event.errorCode}`,
    event.customMetadata?.['stopped'] && 'stopped',
    event.longRunningToolIds && `waits ${event.longRunningToolIds.length}`,
  ].filter(Boolean);
  return `${event.author}:${said.map((it) => ` ${it}`).join('')}${marks.length > 0 ? ` [${marks.join(', ')}]` : ''}`;
}

type Part = NonNullable<NonNullable<Event['content']>['parts']>[number];

export function partText({functionCall, functionResponse, inlineData, text, thought}: Part): string {
  if (functionCall) return `${functionCall.name}(${JSON.stringify(functionCall.args ?? {})})`;
  if (functionResponse) return `${functionResponse.name}=${JSON.stringify(functionResponse.response)}`;
  if (inlineData) return `<${inlineData.mimeType} ${inlineData.data}>`;
  return `${thought ? '~' : ''}${JSON.stringify(text ?? '')}`;
}

/** What a client has sent after its setup, as it stood on the wire. */
export function wire({received}: LiveServerSession): Readonly<Record<string, unknown>>[] {
  return received.slice(1).map(({body}) => body);
}

/** A typed turn on the wire. */
export function turn(text: string): Record<string, unknown> {
  return {clientContent: {turns: [{role: 'user', parts: [{text}]}], turnComplete: true}};
}

/** Answers to calls on the wire. */
export function answers(...functionResponses: readonly Record<string, unknown>[]): Record<string, unknown> {
  return {toolResponse: {functionResponses}};
}

/** One call of a `heldTool`. */
export interface HeldCall {
  readonly args: Readonly<Record<string, unknown>>;
  readonly context: Context;
  readonly end: (value: unknown) => void;
  readonly fail: (error: unknown) => void;
}

/** A tool whose calls end when the test says so, or when their signal fires. */
export function heldTool(
  name: string,
  options: Partial<ConstructorParameters<typeof FunctionTool>[0]> = {},
): {readonly tool: FunctionTool; readonly calls: readonly HeldCall[]; readonly call: (at?: number) => Promise<HeldCall>} {
  const calls: HeldCall[] = [];
  const waiting: (() => void)[] = [];
  const tool = new FunctionTool({
    name,
    description: `The tool ${name}.`,
    parameters: {type: 'object'},
    ...options,
    execute: (args, context) => {
      const {promise, resolve, reject} = Promise.withResolvers<unknown>();
      const {abortSignal} = context;
      abortSignal.addEventListener('abort', () => reject(abortSignal.reason), {once: true});
      calls.push({args: args as Record<string, unknown>, context, end: resolve, fail: reject});
      for (const wake of waiting.splice(0)) wake();
      return promise;
    },
  });
  const call = async (at = 0): Promise<HeldCall> => {
    for (;;) {
      const found = calls[at];
      if (found) return found;
      await new Promise<void>((resolve) => waiting.push(resolve));
    }
  };
  return {tool, calls, call};
}

/** What every session holds after a live run: an id only once, nothing partial or empty, no sound, and one response for each call. */
export function expectValidLive(events: readonly Event[]): void {
  expect(new Set(events.map(({id}) => id)).size).toBe(events.length);
  const [calls, responses]: string[][] = [[], []];
  for (const event of events) {
    expect(event.partial ?? false).toBe(false);
    const parts = event.content?.parts ?? [];
    expect(event.content === undefined || parts.length > 0).toBe(true);
    expect(parts.filter(({inlineData}) => inlineData?.mimeType?.startsWith('audio/'))).toEqual([]);
    for (const {id = ''} of getFunctionCalls(event)) calls?.push(id);
    if (event.author !== 'user') for (const {id = ''} of getFunctionResponses(event)) responses?.push(id);
  }
  expect(responses?.toSorted()).toEqual(calls?.toSorted());
}
