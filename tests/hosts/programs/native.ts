// The handler on the host's own server: what a page about hosts shows. Ends with 0 on SIGTERM, when all is drained.
import {handlerFor} from './agent.ts';

interface Hosts {
  readonly Bun?: {
    serve(options: {port: number; hostname: string; idleTimeout: number; fetch: (request: Request) => Promise<Response>}): {
      readonly port: number;
      stop(): Promise<void>;
    };
  };
  readonly Deno?: {
    readonly args: readonly string[];
    serve(
      options: {port: number; hostname: string; onListen: () => void},
      fetch: (request: Request) => Promise<Response>,
    ): {readonly addr: {readonly port: number}; shutdown(): Promise<void>};
  };
}

const {Bun, Deno} = globalThis as Hosts;
const handler = handlerFor(process.argv[2] ?? '');
// Not the function itself: hosts give arguments of their own besides the request.
const fetch = (request: Request): Promise<Response> => handler(request);

function serve(): {port: number; stop: () => Promise<void>} {
  if (Bun) {
    // Bun closes connections that are silent for 10 seconds, and a model may think longer.
    const server = Bun.serve({port: 0, hostname: '127.0.0.1', idleTimeout: 0, fetch});
    return {port: server.port, stop: () => server.stop()};
  }
  if (!Deno) throw new Error('Neither Bun nor Deno');
  const server = Deno.serve({port: 0, hostname: '127.0.0.1', onListen: () => {}}, fetch);
  return {port: server.addr.port, stop: () => server.shutdown()};
}

const {port, stop} = serve();
process.once('SIGTERM', () => {
  void Promise.all([stop(), handler.close({timeoutMs: 60_000})]).then(() => process.exit(0));
});
console.log(`http://127.0.0.1:${port}`);
