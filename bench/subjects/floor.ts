import type {Content, FunctionCall, Part} from '@google/genai';
import pLimit from 'p-limit';
import {scriptedReply} from '../scripted-model.ts';
import type {Step, Subject, SubjectOptions} from './subject.ts';

/** The floor: the loop that one writes by hand, an async generator with its tools behind p-limit, and no more. */
export function createFloor({tool, width}: SubjectOptions): Subject {
  return {
    async open() {
      const contents: Content[] = [];
      return {
        say(text, {stream = false, abortSignal = new AbortController().signal} = {}) {
          contents.push({role: 'user', parts: [{text}]});
          return loop({tool, gate: pLimit(width), contents, stream, abortSignal});
        },
        size: async () => contents.length,
        close: async () => {},
      };
    },
  };
}

interface Loop {
  readonly tool: SubjectOptions['tool'];
  readonly gate: ReturnType<typeof pLimit>;
  readonly contents: Content[];
  readonly stream: boolean;
  readonly abortSignal: AbortSignal;
}

async function* loop({tool, gate, contents, stream, abortSignal}: Loop): AsyncGenerator<Step, void, undefined> {
  for (;;) {
    abortSignal.throwIfAborted();
    let reply: Step | undefined;
    for await (const response of scriptedReply(contents, stream)) {
      if (response.partial) yield response;
      else reply = response;
    }
    if (!reply?.content) throw new Error('the model ended without a reply');
    contents.push(reply.content);
    yield reply;
    const calls = (reply.content.parts ?? []).flatMap((part) => part.functionCall ?? []);
    if (calls.length === 0) return;
    const parts = await Promise.all(calls.map((call) => gate(() => answer(tool, call, abortSignal))));
    const answers: Step = {content: {role: 'user', parts}};
    contents.push({role: 'user', parts});
    yield answers;
  }
}

async function answer(tool: SubjectOptions['tool'], {id, name, args}: FunctionCall, abortSignal: AbortSignal): Promise<Part> {
  abortSignal.throwIfAborted();
  const result = await tool(args as {n: number}, abortSignal);
  return {functionResponse: {...(id !== undefined && {id}), ...(name !== undefined && {name}), response: {result}}};
}
