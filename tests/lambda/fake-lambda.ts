import {Writable} from 'node:stream';
import type {LambdaContext} from '../../lib/lambda/index.ts';

/** What Lambda gives a function to write its answer to: metadata as JSON, eight zero bytes, then the body. */
export class ResponseStream extends Writable {
  readonly #chunks: Buffer[] = [];
  #metadata: object | undefined;
  /** Set: writes wait until it is resolved, as for a client that does not read. */
  blocked: Promise<void> | undefined;
  readonly #watchers: (() => void)[] = [];

  constructor() {
    super({highWaterMark: 1, decodeStrings: false});
  }

  static from(stream: ResponseStream, metadata: object): ResponseStream {
    stream.#metadata = metadata;
    return stream;
  }

  // The runtime's own: the first write brings the metadata along, be it empty.
  override write(chunk: unknown, ...rest: unknown[]): boolean {
    if (this.#metadata) {
      const metadata = JSON.stringify(this.#metadata);
      this.#metadata = undefined;
      super.write(Buffer.concat([Buffer.from(metadata), Buffer.alloc(8)]));
    }
    return super.write(chunk, ...(rest as []));
  }

  override _write(chunk: Uint8Array | string, _encoding: string, callback: () => void): void {
    this.#chunks.push(Buffer.from(chunk as string));
    for (const watcher of this.#watchers) watcher();
    const take = async (): Promise<void> => {
      await this.blocked;
      callback();
    };
    void take();
  }

  /** All that was written so far. */
  get text(): string {
    return Buffer.concat(this.#chunks).toString();
  }

  get metadata(): unknown {
    return JSON.parse(this.text.split('\0')[0] ?? '') as unknown;
  }

  get body(): string {
    return this.text.split('\0'.repeat(8))[1] ?? '';
  }

  /** Resolves when the body matches. */
  until(pattern: RegExp): Promise<void> {
    return new Promise((resolve) => {
      const look = (): void => {
        if (pattern.test(this.body)) resolve();
      };
      this.#watchers.push(look);
      look();
    });
  }
}

/** The global of Lambda's Node runtimes. */
export const awslambda: {
  readonly streamifyResponse: <T extends object>(handler: T) => T;
  readonly HttpResponseStream: typeof ResponseStream;
} = {
  streamifyResponse: (handler) => Object.assign(handler, {streamed: true}),
  HttpResponseStream: ResponseStream,
};

/** A context whose time is up so many milliseconds after it is asked. */
export function contextOf(remainingMs = 900_000): LambdaContext {
  return {getRemainingTimeInMillis: () => remainingMs};
}
