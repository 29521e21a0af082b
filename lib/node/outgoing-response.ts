import type {ServerResponse} from 'node:http';

/** Sends a response. Its body is read when the client has taken what was written, and cancelled when the client leaves. */
export async function sendResponse(response: Response, outgoing: ServerResponse): Promise<void> {
  const {body} = response;
  if (outgoing.destroyed) return cancel(body, clientLeft());
  if (response.bodyUsed) throw new TypeError('The body of the response was read before it was returned');
  // `Set-Cookie` comes once for each, so no record.
  const headers = [...response.headers].flat();
  if (response.statusText) outgoing.writeHead(response.status, response.statusText, headers);
  else outgoing.writeHead(response.status, headers);
  if (!body || outgoing.req.method === 'HEAD') {
    outgoing.end();
    return cancel(body, new DOMException('Only the headers were asked for', 'AbortError'));
  }
  // The headers of a stream of events tell that it has begun; its first event may take long.
  outgoing.flushHeaders();
  await sendBody(body, outgoing);
}

async function sendBody(body: ReadableStream<Uint8Array>, outgoing: ServerResponse): Promise<void> {
  const reader = body.getReader();
  // Also ends a read that is pending.
  const leave = (): void => void reader.cancel(clientLeft()).catch(() => {});
  outgoing.once('close', leave);
  for (;;) {
    const {done, value} = await reader.read();
    if (done || outgoing.destroyed) break;
    if (!outgoing.write(value) && !(await drained(outgoing))) return;
  }
  outgoing.off('close', leave);
  outgoing.end();
}

/** Resolves to whether it takes more; `false`: it was closed. */
function drained(outgoing: ServerResponse): Promise<boolean> {
  return new Promise((resolve) => {
    const settle = (open: boolean) => (): void => {
      outgoing.off('drain', onDrain).off('close', onClose);
      resolve(open);
    };
    const [onDrain, onClose] = [settle(true), settle(false)];
    outgoing.once('drain', onDrain).once('close', onClose);
  });
}

/** Why a request is aborted and a body cancelled whose client is gone. */
export function clientLeft(): DOMException {
  return new DOMException('The client has left', 'AbortError');
}

// What a body makes of being cancelled is of no use to anybody any more.
async function cancel(body: ReadableStream | null, reason: unknown): Promise<void> {
  await body?.cancel(reason).catch(() => {});
}
