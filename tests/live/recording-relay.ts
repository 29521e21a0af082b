/** A relay between a live client and its server, which frames anew what the server sends: the words stay, the bytes do not. */
import {createServer, connect, type AddressInfo, type Socket} from 'node:net';

export interface Reframing {
  /** In which frames messages go on. Default: as they came. */
  readonly frames?: 'text' | 'binary';
  /** How many bytes of a message go into one frame. Default: all. */
  readonly frameBytes?: number;
  /** How many bytes go into one TCP write. Default: a frame. */
  readonly writeBytes?: number;
}

export interface Relay extends AsyncDisposable {
  readonly url: string;
}

export async function relayTo(target: string, reframing: Reframing): Promise<Relay> {
  const {port} = new URL(target);
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(Number(port), '127.0.0.1');
    for (const [socket, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      open.add(socket);
      socket.setNoDelay(true);
      // Either side may break off at any time.
      socket.on('error', () => {});
      socket.once('close', () => {
        open.delete(socket);
        other.destroy();
      });
    }
    client.pipe(upstream);
    const writer = new PacedWriter(client, reframing.writeBytes);
    const frames = new FrameReader({
      onHandshake: (bytes) => writer.write([bytes]),
      onFrame: (frame) => writer.write(reframe(frame, reframing)),
    });
    upstream.on('data', (data: Buffer) => frames.add(data));
  });
  server.listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

interface Frame {
  readonly opcode: number;
  readonly payload: Buffer;
  readonly bytes: Buffer;
}

const [TEXT, BINARY, CONTROL] = [1, 2, 8];

interface FrameReaderOptions {
  readonly onHandshake: (bytes: Buffer) => void;
  readonly onFrame: (frame: Frame) => void;
}

/** Takes a server's side of a WebSocket apart: its answer to the handshake, then frames, whole and without a mask. */
class FrameReader {
  readonly #options: FrameReaderOptions;
  #rest = Buffer.alloc(0);
  #isOpen = false;

  constructor(options: FrameReaderOptions) {
    this.#options = options;
  }

  add(data: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, data]);
    const end = this.#rest.indexOf('\r\n\r\n');
    if (!this.#isOpen && end >= 0) {
      this.#isOpen = true;
      this.#options.onHandshake(this.#take(end + 4));
    }
    while (this.#isOpen && this.#frame());
  }

  #frame(): boolean {
    const [first = 0, short = 0] = this.#rest;
    const header = short === 126 ? 4 : short === 127 ? 10 : 2;
    if (this.#rest.length < header) return false;
    const length = short === 126 ? this.#rest.readUInt16BE(2) : short === 127 ? Number(this.#rest.readBigUInt64BE(2)) : short;
    if (this.#rest.length < header + length) return false;
    const bytes = this.#take(header + length);
    this.#options.onFrame({opcode: first & 15, payload: bytes.subarray(header), bytes});
    return true;
  }

  #take(length: number): Buffer {
    const taken = this.#rest.subarray(0, length);
    this.#rest = this.#rest.subarray(length);
    return taken;
  }
}

function reframe({opcode, payload, bytes}: Frame, {frames, frameBytes = Infinity}: Reframing): Buffer[] {
  if (opcode >= CONTROL) return [bytes];
  const wanted = frames === undefined ? opcode : frames === 'text' ? TEXT : BINARY;
  const pieces = slices(payload, frameBytes);
  // Only the first frame of a message says what it is, and only the last one that it is the last.
  return pieces.map((piece, at) => Buffer.concat([header(at === 0 ? wanted : 0, at === pieces.length - 1, piece.length), piece]));
}

function header(opcode: number, isLast: boolean, length: number): Buffer {
  const first = (isLast ? 128 : 0) | opcode;
  if (length < 126) return Buffer.from([first, length]);
  if (length < 65_536) return Buffer.from([first, 126, length >> 8, length & 255]);
  const long = Buffer.from([first, 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  long.writeBigUInt64BE(BigInt(length), 2);
  return long;
}

/** Writes one piece after the other, each of which reaches the reader by itself. */
class PacedWriter {
  readonly #socket: Socket;
  readonly #bytes: number | undefined;
  #written: Promise<unknown> = Promise.resolve();

  constructor(socket: Socket, bytes: number | undefined) {
    this.#socket = socket;
    this.#bytes = bytes;
  }

  write(pieces: readonly Buffer[]): void {
    this.#written = this.#written.then(async () => {
      for (const piece of pieces.flatMap((it) => slices(it, this.#bytes ?? Infinity))) {
        if (this.#socket.writable) this.#socket.write(piece);
        if (this.#bytes !== undefined) await new Promise(setImmediate);
      }
    });
  }
}

function slices(bytes: Buffer, size: number): Buffer[] {
  const count = Math.max(1, Math.ceil(bytes.length / size));
  return Array.from({length: count}, (_, at) => bytes.subarray(at === 0 ? 0 : at * size, Math.min((at + 1) * size, bytes.length)));
}
