import {
  FunctionTool,
  getFunctionCalls,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type BaseAgent,
  type BasePlugin,
  type Content,
  type Event,
  type FunctionCall,
  type FunctionToolOptions,
  type LlmAgentConfig,
  type RunConfig,
} from 'sluice';
import {collect, deltas, ScriptedLlm, type ScenarioFactory, type ScriptedStep} from 'sluice/testing';
import {calls, message, quick, sleep} from '../stories/explorer-scenarios.ts';

/** An agent with a script. */
export function agent(name: string, steps: readonly ScriptedStep[], more: Partial<LlmAgentConfig> = {}): LlmAgent {
  return new LlmAgent({name, description: name, model: new ScriptedLlm({model: name, steps}), ...more});
}

/** A tool that does something which may be done once, and heeds its signal. */
export function pay(options: Partial<FunctionToolOptions> = {}): FunctionTool {
  const execute: FunctionToolOptions['execute'] = async (_, {abortSignal}) => sleep(5, abortSignal).then(() => ({paid: 1}));
  return new FunctionTool({name: 'pay', description: '', requireConfirmation: true, execute, ...options});
}

/** Pays after a word of the user's, beside a sibling. */
export const payer = (name = 'payer'): LlmAgent =>
  agent(name, [calls('quick', 'pay'), deltas('Paid', '.')], {tools: [quick('quick'), pay()]});

/** What the user says to what was asked: yes, and what is wanted. */
const agrees = ({name}: FunctionCall): Record<string, unknown> => {
  if (name === 'adk_request_confirmation') return {confirmed: true};
  return name === 'adk_request_credential' ? {token: 'secret'} : {approved: true};
};

export interface Dialogue {
  readonly agent: () => BaseAgent;
  readonly plugins?: () => BasePlugin[];
  /** How many runs bring answers: the last of them is the one that is stopped. Default 1. */
  readonly answers?: number;
  /** What the user says to each call that waits; nothing where it is left waiting. Default: yes to all. */
  readonly say?: (call: FunctionCall, at: number) => Record<string, unknown> | undefined;
  readonly service?: () => InMemorySessionService;
  readonly runConfig?: RunConfig;
  /** What the user says just before, without waiting. */
  readonly aside?: string;
}

/** A store whose writes take time. */
export class SlowStore extends InMemorySessionService {
  override async appendEvent(request: Parameters<InMemorySessionService['appendEvent']>[0]): Promise<Event> {
    await sleep(5);
    return super.appendEvent(request);
  }
}

/** A run that brings the answers to what the runs before it have asked. */
export function answering({
  agent: root,
  plugins = () => [],
  answers = 1,
  say = agrees,
  service,
  runConfig = {},
  aside,
}: Dialogue): ScenarioFactory {
  return async () => {
    const made = plugins();
    const sessionService = service?.() ?? new InMemorySessionService();
    const runner = new Runner({
      appName: 'app',
      agent: root(),
      sessionService,
      plugins: made,
      autoCreateSession: true,
      onDiagnostic: () => {},
    });
    const request = (newMessage: Content): Parameters<Runner['runAsync']>[0] => ({userId: 'u', sessionId: 's', newMessage});
    let events: Event[] = [];
    for (let run = 0; run < answers; run++) {
      const collected = await collect(runner.runAsync(request(run === 0 ? message('Go') : answersTo(events, say))));
      ({events} = collected);
      const {outcome, error} = collected;
      if (outcome.kind !== 'waiting') throw new Error(`the run ended with ${outcome.kind}, and not waiting`, {cause: error});
    }
    const earlier = aside === undefined ? [] : [request(message(aside))];
    return {runner, request: {...request(answersTo(events, say)), runConfig}, plugins: made, earlier};
  };
}

function answersTo(events: readonly Event[], say: NonNullable<Dialogue['say']>): Content {
  const waiting = events.flatMap((event) => getFunctionCalls(event).filter(({id = ''}) => event.longRunningToolIds?.includes(id)));
  const parts = waiting.flatMap((call, at) => {
    const response = say(call, at);
    return response ? [{functionResponse: {id: call.id ?? '', name: call.name ?? '', response}}] : [];
  });
  return {role: 'user', parts};
}
