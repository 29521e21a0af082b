import {expect} from 'vitest';
import {
  BaseAgent,
  createEvent,
  FunctionTool,
  getFunctionCalls,
  getFunctionResponses,
  LlmAgent,
  LongRunningFunctionTool,
  type BaseTool,
  type Event,
  type InvocationContext,
  type LlmAgentConfig,
  type RunConfig,
  type RunnerConfig,
} from 'sluice';
import {ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {line, stage, type Stage} from '../../stories/kit.ts';

/** A runner over this agent, with a session to talk in. */
export function stageOf(agent: BaseAgent, runConfig: RunConfig = {}, runner: Partial<RunnerConfig> = {}): Promise<Stage> {
  return stage({runner: {agent, ...runner}, runConfig});
}

/** An agent with a scripted model of its own, by its own name. */
export function speaker(
  name: string,
  steps: readonly ScriptedStep[],
  tools: readonly BaseTool[] = [],
  more: Partial<LlmAgentConfig> = {},
): LlmAgent & {readonly model: ScriptedLlm} {
  const model = new ScriptedLlm({model: name, steps});
  return Object.assign(new LlmAgent({name, model, tools, ...more}), {model});
}

export function tool(name: string, execute: ConstructorParameters<typeof FunctionTool>[0]['execute'] = () => ({name})): FunctionTool {
  return new FunctionTool({name, description: '', execute});
}

/** A tool that asks the agent above to act, and says no more. */
export function leave(name = 'leave'): FunctionTool {
  return tool(name, (_, {actions}) => {
    actions.escalate = true;
    actions.skipSummarization = true;
    return {left: true};
  });
}

/** A tool whose answer comes later. */
export function ask(name = 'ask'): FunctionTool {
  return new LongRunningFunctionTool({name, description: '', execute: () => {}});
}

/** A tool that runs until the test says so, or until its signal fires. */
export class Gated extends FunctionTool {
  readonly started: Promise<void>;
  readonly finish: () => void;
  signal: AbortSignal | undefined;

  constructor(name: string, isDeaf = false) {
    const started = Promise.withResolvers<void>();
    const finished = Promise.withResolvers<void>();
    super({
      name,
      description: '',
      execute: (_, {abortSignal}) => {
        this.signal = abortSignal;
        started.resolve();
        if (isDeaf) return finished.promise;
        return new Promise((resolve, reject) => {
          abortSignal.addEventListener('abort', () => reject(abortSignal.reason), {once: true});
          void finished.promise.then(() => resolve({name}));
        });
      },
    });
    this.started = started.promise;
    this.finish = finished.resolve;
  }
}

/** An agent of the user's own, by its generator function. */
export class Own extends BaseAgent {
  readonly #body: (this: Own, context: InvocationContext) => AsyncGenerator<Event, void, undefined>;

  constructor(
    name: string,
    body: (this: Own, context: InvocationContext) => AsyncGenerator<Event, void, undefined>,
    subAgents: BaseAgent[] = [],
  ) {
    super({name, subAgents});
    this.#body = body;
  }

  protected runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    return this.#body(context);
  }

  says(words: string, more: Partial<Event> = {}): Event {
    return createEvent({author: this.name, content: {role: 'model', parts: [{text: words}]}, ...more});
  }
}

/** An Event in one line, with its branch. */
export function told(event: Event): string {
  return `${event.branch === undefined ? '' : `(${event.branch}) `}${line(event)}${event.actions.escalate ? ' [escalates]' : ''}`;
}

/** What no session may hold: a call that its branch does not answer right behind. */
export function expectPaired(events: readonly Event[]): void {
  for (const [at, event] of events.entries()) {
    const calls = getFunctionCalls(event).map(({id}) => id);
    if (calls.length === 0) continue;
    const behind = events.slice(at + 1).find(({branch}) => branch === event.branch);
    expect(behind && getFunctionResponses(behind).map(({id}) => id)).toEqual(calls);
  }
}

/** Counts rejections that nobody handled, from now to `dispose`. */
export function watchRejections(): {readonly rejections: unknown[]} & Disposable {
  const rejections: unknown[] = [];
  const note = (reason: unknown): void => void rejections.push(reason);
  process.on('unhandledRejection', note);
  return {rejections, [Symbol.dispose]: () => void process.off('unhandledRejection', note)};
}
