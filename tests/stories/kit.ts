import {getEventListeners} from 'node:events';
import {expect} from 'vitest';
import {
  getFunctionResponses,
  InMemoryRunner,
  LlmAgent,
  type Diagnostic,
  type Event,
  type LlmAgentConfig,
  type Run,
  type RunConfig,
  type RunnerConfig,
  type RunRequest,
} from 'sluice';
import {ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {servedParts} from '../../lib/events/served-parts.ts';

export interface StageOptions {
  readonly steps?: readonly ScriptedStep[];
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runner?: Partial<RunnerConfig>;
  readonly runConfig?: RunConfig;
}

/** A runner over one scripted agent, with a session to talk in. */
export async function stage({steps = [], agent = {}, runner = {}, runConfig}: StageOptions = {}): Promise<Stage> {
  const model = new ScriptedLlm({steps});
  const diagnostics: Diagnostic[] = [];
  const root = new LlmAgent({name: 'root', model, ...agent});
  const made = new InMemoryRunner({
    agent: root,
    appName: 'app',
    onDiagnostic: (it) => diagnostics.push(it),
    ...(runConfig && {runConfig}),
    ...runner,
  });
  await made.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  return new Stage(made, model, diagnostics);
}

export class Stage {
  readonly runner: InMemoryRunner;
  readonly model: ScriptedLlm;
  readonly diagnostics: Diagnostic[];

  constructor(runner: InMemoryRunner, model: ScriptedLlm, diagnostics: Diagnostic[]) {
    this.runner = runner;
    this.model = model;
    this.diagnostics = diagnostics;
  }

  run(text = 'go', options: Partial<RunRequest> = {}): Run {
    return this.runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text}]}, ...options});
  }

  async stored(): Promise<Event[]> {
    const session = await this.runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
    return session?.events ?? [];
  }

  async state(): Promise<Record<string, unknown>> {
    return (await this.runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.state ?? {};
  }
}

/** An Event in one line: who, what, and the marks that matter. */
export function line(event: Event): string {
  const said = (event.content?.parts ?? []).map((part) => {
    if (part.functionCall) return `${part.functionCall.name}(${JSON.stringify(part.functionCall.args ?? {})})`;
    if (part.functionResponse) return `${part.functionResponse.name}=${JSON.stringify(part.functionResponse.response)}`;
    return `${part.thought ? '~' : ''}${JSON.stringify(part.text ?? '')}`;
  });
  const marks = [
    event.partial ? 'partial' : '',
    event.errorCode ? `error:${event.errorCode}` : '',
    event.customMetadata?.['stopped'] ? 'stopped' : '',
    event.longRunningToolIds ? `waits:${event.longRunningToolIds.length}` : '',
  ].filter(Boolean);
  return `${event.author}: ${said.join(' ')}${marks.length > 0 ? ` [${marks.join(' ')}]` : ''}`;
}

export async function lines(run: AsyncIterable<Event>): Promise<string[]> {
  const list: string[] = [];
  for await (const event of run) list.push(line(event));
  return list;
}

/** What no session may ever hold: a call without its response right behind, a partial Event, an empty content, one id twice. */
export function expectValid(events: readonly Event[]): void {
  expect(new Set(events.map(({id}) => id)).size).toBe(events.length);
  events.forEach((event, index) => {
    expect(event.partial ?? false).toBe(false);
    expect(event.content?.parts?.length ?? 1).toBeGreaterThan(0);
    const parts = event.content?.parts ?? [];
    const served = servedParts(parts);
    const calls = parts.flatMap((part) => (part.functionCall && !served.has(part) ? [part.functionCall.id] : []));
    if (calls.length === 0) return;
    const next = events[index + 1];
    expect(next && getFunctionResponses(next).map(({id}) => id)).toEqual(calls);
  });
}

/** What a run leaves on its caller's signal: nothing. */
export function expectNoListeners(signal: AbortSignal): void {
  expect(getEventListeners(signal, 'abort')).toEqual([]);
}

/** Resolves after all microtasks that are queued by now, and those that they queue, have run. */
export function idle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
