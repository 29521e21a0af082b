const NEWLINE = 0x0a;

/** Puts lines together from the chunks of a stream. What is long is copied once, however many chunks it comes in. */
export class LineBuffer {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #bytes = 0;

  /** @param maxBytes - the longest line that is taken */
  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Takes a chunk, and gives the lines that it completes.
   *
   * @throws RangeError for a line that is too long
   */
  push(chunk: Uint8Array): string[] {
    const lines: string[] = [];
    let from = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, from)) {
      this.#keep(chunk.subarray(from, end));
      lines.push(this.#take());
      from = end + 1;
    }
    this.#keep(chunk.subarray(from));
    return lines;
  }

  #keep(bytes: Uint8Array): void {
    this.#bytes += bytes.length;
    if (this.#bytes > this.#maxBytes) throw new RangeError(`it sent a message of more than ${this.#maxBytes} bytes (maxBufferSize)`);
    if (bytes.length > 0) this.#chunks.push(bytes);
  }

  #take(): string {
    const line = Buffer.concat(this.#chunks).toString('utf8');
    this.#chunks = [];
    this.#bytes = 0;
    return line;
  }
}
