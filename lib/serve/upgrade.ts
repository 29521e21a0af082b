import type {Host, ServerSocket, Upgrade} from './handler.ts';

/** What the runtime itself has to make a WebSocket of a request, where its host gives nothing; `undefined` where it has nothing. */
export function builtInUpgrade(): Host['upgradeWebSocket'] {
  const {Deno, WebSocketPair} = globalThis as Runtime;
  if (WebSocketPair) return () => upgradeInWorkerd(WebSocketPair);
  return Deno && ((request) => Deno.upgradeWebSocket(request));
}

/** The globals of workerd and of Deno, as far as they are used. */
interface Runtime {
  readonly WebSocketPair?: new () => {readonly 0: unknown; readonly 1: ServerSocket & {accept(): void}};
  readonly Deno?: {upgradeWebSocket(request: Request): Upgrade};
}

function upgradeInWorkerd(Pair: NonNullable<Runtime['WebSocketPair']>): Upgrade {
  const {0: client, 1: socket} = new Pair();
  socket.accept();
  return {socket, response: new Response(null, {status: 101, webSocket: client} as ResponseInit)};
}
