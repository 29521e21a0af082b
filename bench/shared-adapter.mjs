/*@adapter { "title": "sluice", "packages": ["file:/path/to/sluice-0.1.0.tgz", "zod@4"], "entry": "sluice", "provider": [] } */
// To compare Sluice with other frameworks in the shared benchmark: copy this file there as `adapters/sluice.mjs`, put the path of the
// tarball that `npm pack` made into the header, and run `node setup.mjs sluice`. `lib/script.mjs` is the benchmark's own.
import {BaseLlm, FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, stringifyContent} from 'sluice';
import {z} from 'zod';
import {take} from '../lib/script.mjs';

class ScriptedLlm extends BaseLlm {
  constructor() {
    super({model: 'scripted'});
  }

  async *generateContentAsync({contents}, stream, abortSignal) {
    const turn = await take(contents[0].parts[0].text, {signal: abortSignal, outputs: () => resultsIn(contents)});
    if (stream) for await (const text of turn.deltas) yield {content: {role: 'model', parts: [{text}]}, partial: true};
    const calls = turn.calls.map((functionCall) => ({functionCall}));
    yield {content: {role: 'model', parts: turn.text ? [{text: turn.text}, ...calls] : calls}, finishReason: 'STOP'};
  }
}

function resultsIn(contents) {
  const results = [];
  for (const {parts} of contents) for (const part of parts) if (part.functionResponse) results.push(part.functionResponse.response.result);
  return results;
}

function toTool({name, description, run}) {
  return new FunctionTool({
    name,
    description,
    parameters: z.object({n: z.number()}),
    execute: (args, {abortSignal}) => run(args, {signal: abortSignal}),
  });
}

export function create({tools}) {
  const agent = new LlmAgent({name: 'bench', model: new ScriptedLlm(), instruction: 'Work.', tools: tools.map(toTool)});
  // As wide as the gate of the floor with p-limit.
  const runner = new InMemoryRunner({agent, appName: 'bench', runConfig: {maxLlmCalls: 0, maxConcurrentTools: 64}});
  const key = {appName: 'bench', userId: 'u'};
  const newSession = async () => (await runner.sessionService.createSession(key)).id;
  const start = (sessionId, text, abortSignal, streamingMode = StreamingMode.NONE) =>
    runner.runAsync({userId: 'u', sessionId, newMessage: {role: 'user', parts: [{text}]}, abortSignal, runConfig: {streamingMode}});
  const lastText = async (events) => {
    let last = '';
    for await (const event of events) last = stringifyContent(event) || last;
    return last;
  };
  return {
    run: async (prompt, {signal} = {}) => lastText(start(await newSession(), prompt, signal)),
    open: async (prompt, {signal} = {}) => ({
      events: start(await newSession(), prompt, signal, StreamingMode.SSE),
      delta: (event) => (event.partial ? stringifyContent(event) : undefined),
    }),
    async session() {
      const sessionId = await newSession();
      return {
        note: 'InMemorySessionService',
        send: (prompt) => lastText(start(sessionId, prompt)),
        size: async () => (await runner.sessionService.getSession({...key, sessionId})).events.length,
      };
    },
  };
}
