import {StreamingMode, type LlmAgentConfig, type RunConfig} from 'sluice';
import {Gemini, type GeminiOptions} from 'sluice/gemini';
import {GeminiServer, type GeminiReplySource} from 'sluice/testing';
import {stage, type Stage} from '../stories/kit.ts';

export interface WiredOptions {
  readonly replies?: readonly GeminiReplySource[];
  readonly agent?: Partial<LlmAgentConfig>;
  readonly gemini?: Partial<GeminiOptions>;
  readonly runConfig?: RunConfig;
}

/** A runner whose agent talks to a loopback server over real HTTP, streaming unless told otherwise; retries wait for nothing. */
export async function wired({replies = [], agent = {}, gemini = {}, runConfig = {}}: WiredOptions = {}): Promise<Wired> {
  const server = await GeminiServer.start({replies});
  const model = modelAt(server, gemini);
  const it = await stage({agent: {model, ...agent}, runConfig: {streamingMode: StreamingMode.SSE, ...runConfig}});
  return new Wired(server, it);
}

export function modelAt(server: GeminiServer, options: Partial<GeminiOptions> = {}): Gemini {
  const httpOptions = {baseUrl: server.url, ...options.httpOptions};
  return new Gemini({model: 'gemini-2.5-flash', apiKey: 'test', retryDelayMs: 0, ...options, httpOptions});
}

export class Wired implements AsyncDisposable {
  readonly server: GeminiServer;
  readonly stage: Stage;

  constructor(server: GeminiServer, it: Stage) {
    this.server = server;
    this.stage = it;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stage.runner.close({timeoutMs: 0});
    await this.server.close();
  }
}
