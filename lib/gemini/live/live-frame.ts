/** What went over the wire of a live connection, as the option `onLiveFrame` is told of it. */
export interface LiveFrame {
  /** `sent` and `received` for each message; `opened` when the socket is open, and `closed` when it is over. */
  readonly direction: 'opened' | 'sent' | 'received' | 'closed';
  /**
   * The text of the message as it went over the wire; of `opened` the URL; of `closed` the close code and the reason, for example
   * `1011 Internal error encountered.` Every key and token in it is replaced by `REDACTED`.
   */
  readonly data: string;
  /** Which connection of this `Gemini` object it was, from 1 on. */
  readonly connection: number;
  /** When it was seen, in milliseconds since 1970. */
  readonly timestamp: number;
}
