// Serves an agent to many clients, and answers its parent: `prepare` makes sessions, `settle` tells how their runs have ended, once
// they have, `read` what is stored, and `forget` deletes all sessions and tells what is left in the process.
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {BaseLlm, FunctionTool, InMemorySessionService, LlmAgent, type LlmRequest, type LlmResponse, type RunOutcome} from 'sluice';
import {toNodeHandler} from 'sluice/node';
import {createHandler} from 'sluice/serve';

const pause = (ms: number, abortSignal: AbortSignal | undefined): Promise<void> =>
  new Promise((resolve, reject) => {
    const stop = (): void => {
      clearTimeout(timer);
      reject(abortSignal?.reason as Error);
    };
    const timer = setTimeout(() => {
      abortSignal?.removeEventListener('abort', stop);
      resolve();
    }, ms);
    abortSignal?.addEventListener('abort', stop, {once: true});
  });

/** Calls a tool first, and then says something in pieces. */
class SlowModel extends BaseLlm {
  async *generateContentAsync(
    {contents}: LlmRequest,
    _stream?: boolean,
    abortSignal?: AbortSignal,
  ): AsyncGenerator<LlmResponse, void, undefined> {
    const isAnswered = contents.at(-1)?.parts?.some((part) => part.functionResponse);
    if (!isAnswered) {
      yield {content: {role: 'model', parts: [{functionCall: {name: 'look', args: {}}}]}, finishReason: 'STOP'};
      return;
    }
    const pieces = Array.from({length: 6}, (_, index) => `piece ${index} `);
    for (const text of pieces) {
      await pause(40, abortSignal);
      yield {content: {role: 'model', parts: [{text}]}, partial: true};
    }
    yield {content: {role: 'model', parts: [{text: pieces.join('')}]}, finishReason: 'STOP'};
  }
}

const look = new FunctionTool({
  name: 'look',
  description: 'Looks.',
  execute: async (_, {abortSignal}) => (await pause(50, abortSignal), {seen: 'x'.repeat(1_000)}),
});
const sessionService = new InMemorySessionService();
const agent = new LlmAgent({name: 'root', model: new SlowModel({model: 'slow'}), tools: [look]});
const handler = createHandler({agents: {app: agent}, sessionService, onDiagnostic: () => {}});
const sessions = async (): Promise<string[]> => (await sessionService.listSessions({appName: 'app'})).sessions.map(({id}) => id);
const open = new Set<Promise<unknown>>();
let kinds: Record<string, number> = {};
const waitUntil = (settled: Promise<unknown>): void => {
  open.add(settled);
  void settled.then((outcome) => {
    const {kind} = outcome as RunOutcome;
    kinds[kind] = (kinds[kind] ?? 0) + 1;
    open.delete(settled);
  });
};
const server = createServer(toNodeHandler((request) => handler(request, {waitUntil})));

const commands: Record<string, (count: number) => Promise<unknown>> = {
  prepare: async (count) => {
    for (let made = 0; made < count; made++) await sessionService.createSession({appName: 'app', userId: 'u'});
    return sessions();
  },
  read: async () => {
    const ids = await sessions();
    const read = await Promise.all(ids.map((sessionId) => sessionService.getSession({appName: 'app', userId: 'u', sessionId})));
    return read.map((session) => session?.events);
  },
  settle: async () => {
    const started = performance.now();
    await Promise.all(open);
    const told = {kinds, open: open.size, ms: performance.now() - started};
    kinds = {};
    return told;
  },
  forget: async () => {
    for (const sessionId of await sessions()) await sessionService.deleteSession({appName: 'app', userId: 'u', sessionId});
    const connections = await new Promise<number>((resolve) => server.getConnections((_, count) => resolve(count)));
    for (let round = 0; round < 3; round++) {
      globalThis.gc?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
    return {connections, timers, heapUsed: process.memoryUsage().heapUsed};
  },
};
process.on('message', ([command, count]: [string, number]) => void commands[command]?.(count).then((told) => process.send?.(told)));
server.listen(0, '127.0.0.1', () => process.send?.({port: (server.address() as AddressInfo).port}));
