import {once} from 'node:events';

/** Writes, and waits while the reader is slow. Nothing is thrown where the reader has left: the stream's `error` event tells. */
export async function write(stream: NodeJS.WriteStream, text: string): Promise<void> {
  if (text === '' || stream.write(text) || stream.destroyed) return;
  await once(stream, 'drain').catch(() => {});
}

/** Resolves when the standard streams have handed over what was written to them. */
export async function flushed(): Promise<void> {
  await Promise.all([process.stdout, process.stderr].map((stream) => new Promise((resolve) => stream.write('', resolve))));
}
