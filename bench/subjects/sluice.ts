import {BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, type LlmRequest, type LlmResponse} from 'sluice';
import {z} from 'zod';
import {scriptedReply} from '../scripted-model.ts';
import type {Subject, SubjectOptions} from './subject.ts';

class ScriptedModel extends BaseLlm {
  generateContentAsync({contents}: LlmRequest, stream = false): AsyncGenerator<LlmResponse, void, undefined> {
    return scriptedReply(contents, stream);
  }
}

/** Sluice as one uses it, with sessions in memory. */
export function createSluice({tool, width, blockedLoopMs}: SubjectOptions): Subject {
  const agent = new LlmAgent({
    name: 'bench',
    model: new ScriptedModel({model: 'scripted'}),
    instruction: 'Work.',
    tools: [
      new FunctionTool({
        name: 'tool',
        description: 'Works.',
        parameters: z.object({n: z.number()}),
        execute: (args, {abortSignal}) => tool(args, abortSignal),
      }),
    ],
  });
  const runConfig = {maxLlmCalls: Infinity, maxConcurrentTools: width, blockedLoopMs};
  const runner = new InMemoryRunner({agent, appName: 'bench', runConfig});
  const {sessionService} = runner;
  const key = {appName: 'bench', userId: 'u'};
  return {
    async open() {
      const {id: sessionId} = await sessionService.createSession(key);
      return {
        say: (text, {stream = false, abortSignal} = {}) =>
          runner.runAsync({
            userId: 'u',
            sessionId,
            newMessage: {role: 'user', parts: [{text}]},
            abortSignal,
            runConfig: {streamingMode: stream ? StreamingMode.SSE : StreamingMode.NONE},
          }),
        size: async () => (await sessionService.getSession({...key, sessionId}))?.events.length ?? 0,
        close: () => sessionService.deleteSession({...key, sessionId}),
      };
    },
  };
}
