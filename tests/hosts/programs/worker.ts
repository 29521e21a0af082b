// The handler as a Cloudflare Worker.
import {handlerFor} from './agent.ts';
import type {Handler} from 'sluice/serve';

interface Environment {
  readonly GEMINI: string;
  readonly HEARTBEAT_MS?: number;
}

let handler: Handler | undefined;
const log: string[] = [];

const worker = {
  async fetch(
    request: Request,
    {GEMINI, HEARTBEAT_MS}: Environment,
    context: {waitUntil(promise: Promise<unknown>): void},
  ): Promise<Response> {
    // Kept for as long as the isolate lives: the sessions of this test are in its memory.
    handler ??= handlerFor(GEMINI, HEARTBEAT_MS);
    if (new URL(request.url).pathname === '/log') return Response.json(log);
    const note = (outcome: unknown): void => void log.push(`settled: ${(outcome as {kind: string}).kind}`);
    return handler(request, {waitUntil: (promise) => context.waitUntil(promise.then(note))});
  },
};

// oxlint-disable-next-line import/no-default-export -- what workerd asks a worker for.
export default worker;
