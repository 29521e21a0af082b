import {setImmediate} from 'node:timers/promises';
import type {Exchange} from './exchange.ts';
import {errorBody} from './gemini-server-errors.ts';
import type {Framed} from './gemini-server-framing.ts';
import type {GeminiDelivery, GeminiFault} from './gemini-server-replies.ts';

/** Sends an answer, with its pace and its fault, for as long as the client stays. */
export async function deliver(framed: Framed, delivery: GeminiDelivery, exchange: Exchange): Promise<void> {
  const {fault, headersDelayMs = 0, chunkDelayMs = 0, chunkBytes = Infinity} = delivery;
  const {response} = exchange;
  if (headersDelayMs > 0) await exchange.pause(headersDelayMs);
  if (exchange.isClosed) return;
  if (fault?.after === 'request') return misbehave(fault, exchange);
  response.writeHead(framed.status, framed.headers);
  response.flushHeaders();

  const pieces = framed.pieces[Symbol.asyncIterator]();
  try {
    for (let sent = 0; ; sent++) {
      if (fault?.after === sent && !fault.bytes) return await misbehave(fault, exchange);
      const next = await exchange.orClosed(pieces.next());
      if (!next) return;
      if (next.done) break;
      if (sent > 0 && chunkDelayMs > 0) await exchange.pause(chunkDelayMs);
      if (fault?.after === sent) {
        await exchange.write(next.value.subarray(0, fault.bytes));
        return await misbehave(fault, exchange);
      }
      await writeInChunks(next.value, chunkBytes, exchange);
      // A turn of the event loop, so that two chunks do not leave in one packet.
      await setImmediate();
    }
    if (fault) return await misbehave(fault, exchange);
    response.end();
  } finally {
    // Not awaited: a source that waits for something of its own would hold this up.
    void pieces.return?.()?.catch(() => {});
  }
}

/** Every write is an HTTP chunk of its own, and a client's parser hands it on as one. */
async function writeInChunks(bytes: Uint8Array, chunkBytes: number, exchange: Exchange): Promise<void> {
  let at = 0;
  for (; at + chunkBytes < bytes.length; at += chunkBytes) {
    if (exchange.isClosed) return;
    exchange.push(bytes.subarray(at, at + chunkBytes));
    if (exchange.response.writableNeedDrain) await exchange.orClosed(drained(exchange));
  }
  await exchange.write(bytes.subarray(at));
}

function drained({response}: Exchange): Promise<void> {
  return new Promise((resolve) => response.once('drain', resolve));
}

async function misbehave(fault: GeminiFault, exchange: Exchange): Promise<void> {
  const {response} = exchange;
  if (fault.kind === 'stall') {
    await exchange.closed;
    return;
  }
  exchange.own();
  if (fault.kind === 'reset') response.socket?.resetAndDestroy();
  // Without headers a clean end is a closed connection.
  else if (fault.after === 'request') response.destroy();
  else {
    if (fault.kind === 'error') await exchange.write(Buffer.from(fault.body ?? `${JSON.stringify(errorBody({code: 503}), null, 2)}\n`));
    response.end();
  }
}
