import {
  getPendingUserInputRequests,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type BaseAgent,
  type Event,
  type LlmAgentConfig,
  type Part,
  type RunConfig,
  type RunnerConfig,
  type RunOutcome,
  type UserInputRequest,
} from 'sluice';
import {collect, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {line} from '../stories/kit.ts';

export interface DeskRun {
  /** Its Events, a line each. */
  readonly said: string[];
  readonly events: Event[];
  readonly outcome: RunOutcome;
  readonly error?: unknown;
}

/** A session that is text between its runs. Each run has an agent, a runner and a store of its own, as in another process. */
export class Desk {
  saved = '[]';
  readonly #runner: Partial<RunnerConfig>;

  constructor(runner: Partial<RunnerConfig> = {}) {
    this.#runner = runner;
  }

  /** All that is stored. */
  get events(): Event[] {
    return JSON.parse(this.saved) as Event[];
  }

  /** What the session waits for, in the order in which it was asked. */
  get pending(): UserInputRequest[] {
    return getPendingUserInputRequests(this.events);
  }

  /** @param agent - made anew for each run, with what its models then say */
  async run(agent: BaseAgent, said: string | readonly Part[], runConfig: RunConfig = {}): Promise<DeskRun> {
    const key = {appName: 'app', userId: 'u', sessionId: 's'};
    const sessionService = new InMemorySessionService();
    const session = await sessionService.createSession(key);
    for (const event of this.events) await sessionService.appendEvent({session, event});
    const runner = new Runner({appName: 'app', agent, sessionService, onDiagnostic: () => {}, ...this.#runner});
    const parts = typeof said === 'string' ? [{text: said}] : [...said];
    const run = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts}, runConfig}));
    this.saved = JSON.stringify((await sessionService.getSession(key))?.events);
    return {...run, said: run.events.map(line)};
  }
}

/** The answer to a request. */
export function answer(request: UserInputRequest | undefined, response: Record<string, unknown>): Part {
  return {functionResponse: {id: request?.interruptId ?? '', name: request?.functionCallName ?? '', response}};
}

/** An agent with a scripted model of its own. */
export function scripted(
  name: string,
  steps: readonly ScriptedStep[],
  config: Partial<LlmAgentConfig> = {},
): LlmAgent & {readonly model: ScriptedLlm} {
  const model = new ScriptedLlm({model: name, steps});
  return Object.assign(new LlmAgent({name, description: `Knows ${name}.`, model, ...config}), {model});
}

/** What the last request of a model holds: the responses of its last content. */
export function lastResponses(model: ScriptedLlm): unknown[] {
  return (model.requests.at(-1)?.contents.at(-1)?.parts ?? []).map(({functionResponse}) => functionResponse?.response);
}
