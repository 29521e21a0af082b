import type {IncomingMessage} from 'node:http';

/** What a client may go on sending after it was answered, before its connection is closed: a slow reader still gets to see the answer. */
const DISCARDED_BYTES = 64 * 1024 * 1024;
const DISCARDED_MS = 10_000;

/** The body of a request, read at the pace of whoever reads the stream. */
export interface IncomingBody {
  /** `null` where the request has none. Cancelling it leaves the connection alone: the answer still goes out on it. */
  readonly stream: ReadableStream<Uint8Array<ArrayBuffer>> | null;
  /** Throws away what was not read, once the answer has been sent. */
  discard(): void;
}

/**
 * Node's own conversion destroys the connection when its stream is cancelled, so that a client would never see why it was refused.
 *
 * @param onRead - called when the stream is first read
 */
export function bodyOf(incoming: IncomingMessage, onRead: () => void = () => {}): IncomingBody {
  if (!hasBody(incoming)) return {stream: null, discard: () => {}};
  let listening = false;
  let onData = (_chunk: Uint8Array<ArrayBuffer>): void => {};
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>(
    {
      pull(controller) {
        if (incoming.readableEnded) {
          throw new TypeError('The body of the request was read by somebody else: put body parsers behind this handler');
        }
        if (!listening) {
          listening = true;
          onData = (chunk) => {
            incoming.pause();
            controller.enqueue(chunk);
          };
          listen(incoming, controller, onData);
          onRead();
        }
        incoming.resume();
      },
      cancel: () => void incoming.off('data', onData).pause(),
    },
    {highWaterMark: 0},
  );
  return {stream, discard: () => discard(incoming.off('data', onData))};
}

/** Whether a request announces a body. */
export function hasBody({headers}: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0;
}

function listen(
  incoming: IncomingMessage,
  controller: ReadableStreamDefaultController<Uint8Array<ArrayBuffer>>,
  onData: (chunk: Uint8Array<ArrayBuffer>) => void,
): void {
  // A stream that was cancelled or has failed takes no more.
  const end = (act: () => void) => (): void => {
    try {
      act();
    } catch {}
  };
  const left = (): void => controller.error(new DOMException('The client left before its request was complete', 'AbortError'));
  incoming
    .on('data', onData)
    .once(
      'end',
      end(() => controller.close()),
    )
    .once('error', end(left))
    .once('close', end(left));
}

function discard(incoming: IncomingMessage): void {
  if (incoming.readableEnded || incoming.destroyed) return;
  let bytes = 0;
  const timer = setTimeout(() => incoming.destroy(), DISCARDED_MS).unref();
  incoming
    .on('data', (chunk: Uint8Array) => {
      bytes += chunk.length;
      if (bytes > DISCARDED_BYTES) incoming.destroy();
    })
    .once('error', () => {})
    .once('close', () => clearTimeout(timer))
    .once('end', () => clearTimeout(timer))
    .resume()
    .read(0);
}
