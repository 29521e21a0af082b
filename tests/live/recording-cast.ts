/** What a live run of a recorded session is made of: all that was recorded of its client. */
import {
  createEvent,
  FunctionTool,
  type FunctionResponse,
  type LiveRequestQueue,
  type LlmAgentConfig,
  type RunConfig,
  type Runner,
  type Schema,
} from 'sluice';
import type {GeminiOptions} from 'sluice/gemini';
import {authClient} from '../gemini/live/connecting.ts';
import type {ClientMessage, ClientTool, RecordedSession} from './recording-sessions.ts';

export interface RanCall {
  readonly name: string;
  readonly args: object;
}

/** The agent, but for its model: the recorded instruction, and tools that give what the recorded client answered. */
export function agentOf({client}: RecordedSession, ran: RanCall[]): Omit<LlmAgentConfig, 'model'> {
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
export function loginOf({client}: RecordedSession): GeminiOptions {
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
export function runConfigOf({client}: RecordedSession): RunConfig {
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
export async function seed(runner: Runner, {client}: RecordedSession): Promise<void> {
  const session = await runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  for (const content of client.flatMap(({clientContent}) => (clientContent?.turnComplete === false ? (clientContent.turns ?? []) : []))) {
    await runner.sessionService.appendEvent({session, event: createEvent({author: content.role === 'model' ? 'root' : 'user', content})});
  }
}

/** Says again what the recorded user said. */
export function say(queue: LiveRequestQueue, {clientContent, realtimeInput}: ClientMessage): void {
  if (clientContent?.turnComplete) for (const content of clientContent.turns ?? []) void queue.sendContent(content);
  const {audio, text, activityStart, activityEnd, mediaChunks = []} = realtimeInput ?? {};
  if (activityStart) void queue.sendActivityStart();
  for (const blob of [...(audio ? [audio] : []), ...mediaChunks]) void queue.sendRealtime(blob);
  if (text !== undefined) void queue.sendRealtime({text});
  if (activityEnd) void queue.sendActivityEnd();
}
