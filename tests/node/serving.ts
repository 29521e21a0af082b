import {once} from 'node:events';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import type {Handler} from '../../lib/serve/handler.ts';
import {listen, type FetchHandler, type Listener, type ListenOptions} from '../../lib/node/index.ts';

/** A handler without anything to drain. */
export function handlerOf(answer: FetchHandler, close: Handler['close'] = async () => {}): Handler {
  return Object.assign(async (...args: Parameters<Handler>) => answer(...args), {close, [Symbol.asyncDispose]: () => close()});
}

/** A server on a free port, for any `Host`, which no signal ends and whose errors fail the test. */
export function serve(answer: FetchHandler | Handler, options: ListenOptions = {}): Promise<Listener> {
  const handler = 'close' in answer ? answer : handlerOf(answer);
  const onError = (error: unknown): void => {
    throw error;
  };
  return listen(handler, {port: 0, signals: [], drainTimeoutMs: 0, allowedHosts: '*', onError, ...options});
}

/** A port on which somebody else listens. */
export async function takenPort(): Promise<{port: number} & AsyncDisposable> {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      server.close();
      await once(server, 'close');
    },
  };
}

/** A body that counts how often it is asked for more, and tells when it is cancelled. */
export class WatchedBody {
  pulls = 0;
  /** The second pull: the client has what came before. */
  readonly waiting: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  readonly cancelled: PromiseWithResolvers<unknown> = Promise.withResolvers<unknown>();
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>>;

  /** @param chunk - what the `n`th pull gives, counted from 1; nothing: it never comes */
  constructor(chunk: (n: number) => Uint8Array<ArrayBuffer> | undefined) {
    this.stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
      {
        pull: async (controller) => {
          this.pulls += 1;
          const next = chunk(this.pulls);
          if (next) return controller.enqueue(next);
          this.waiting.resolve();
          await new Promise(() => {});
        },
        cancel: (reason) => this.cancelled.resolve(reason),
      },
      {highWaterMark: 0},
    );
  }
}
