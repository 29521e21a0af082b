import type {FunctionCall} from '../content.ts';
import type {LiveClosed} from './gemini-live-server-connection.ts';
import type {LiveCore} from './gemini-live-server-core.ts';
import {LiveSessionClosedError, type LiveClientKind, type LiveClientMessage} from './gemini-live-server-inbox.ts';
import type {LiveRefusal, LiveServerRequest} from './gemini-live-server-request.ts';

/**
 * One connection of a client to a `GeminiLiveServer`: the record of it, and the server's side of the talk. Refused and stalled handshakes
 * are sessions, too. What is sent when the connection is not open is lost, as on any wire.
 */
export class LiveServerSession {
  readonly #core: LiveCore;

  constructor(core: LiveCore) {
    this.#core = core;
  }

  /** Counts the sessions of the server, from 0. */
  get index(): number {
    return this.#core.index;
  }

  get request(): LiveServerRequest {
    return this.#core.request;
  }

  /** The payload of the setup message, as it came; `undefined` before. */
  get setup(): Readonly<Record<string, unknown>> | undefined {
    return this.received.find(({kind}) => kind === 'setup')?.payload;
  }

  /** All that the client has sent, in order. */
  get received(): readonly LiveClientMessage[] {
    return this.#core.inbox.received;
  }

  /** Why the server refused the handshake or closed by strictness; `undefined` if it did neither. */
  get refusal(): LiveRefusal | undefined {
    return this.#core.refusal;
  }

  /** What the session's script threw; the session is closed with 1011 then. */
  get scriptError(): unknown {
    return this.#core.scriptError;
  }

  /** Settles when the connection is gone; `early` if the client ended it. Never rejects. */
  get closed(): Promise<LiveClosed> {
    return this.#core.connection.closed;
  }

  get isClosed(): boolean {
    return this.#core.connection.isClosed;
  }

  /** When the client asked for the connection, on the process's real `performance.now()` scale. */
  get openedAt(): number {
    return this.#core.connection.openedAt;
  }

  /** Takes the client's next message, of that kind if one is given; others stay for later. Rejects when the connection is gone. */
  next(kind?: LiveClientKind): Promise<LiveClientMessage> {
    return this.#core.inbox.next(kind);
  }

  /** The message of that kind with that number, from 0, at once or when it comes. Takes nothing away from the script. */
  message(kind: LiveClientKind, at = 0): Promise<LiveClientMessage> {
    return this.#core.inbox.message(kind, at);
  }

  /** Sends a message as Google frames it: pretty JSON and a line feed, in a binary frame. */
  send(message: Readonly<Record<string, unknown>>): void {
    this.#core.send(message);
  }

  /** Sends a frame as it is; in a binary frame unless told otherwise. */
  sendRaw(data: string | Uint8Array, {binary = true}: {readonly binary?: boolean} = {}): void {
    this.#core.connection.send(data, binary);
  }

  /** Puts all that `sends` sends at once into one TCP write. */
  together(sends: () => void): void {
    this.#core.connection.together(sends);
  }

  /** Waits for the setup, and says that it is complete. Vertex tells a session's id, by default one that is made up. */
  async acknowledge({sessionId}: {readonly sessionId?: string | undefined} = {}): Promise<void> {
    await this.message('setup');
    this.#core.inbox.take('setup');
    const id = sessionId ?? (this.request.backend === 'vertex' ? `session-${this.index}` : undefined);
    this.send({setupComplete: id === undefined ? {} : {sessionId: id}});
  }

  /** Says a piece of text. */
  say(text: string): void {
    this.#turn({text});
  }

  /** Says a piece of sound, given in base64. Default type: the backend's own. */
  audio(data: string, mimeType: string = this.request.backend === 'vertex' ? 'audio/pcm' : 'audio/pcm;rate=24000'): void {
    this.#turn({inlineData: {mimeType, data}});
  }

  /** Tells a fragment of what the user said. */
  transcribeInput(text: string): void {
    this.send({serverContent: {inputTranscription: {text}}});
  }

  /** Tells a fragment of what the model said. */
  transcribeOutput(text: string): void {
    this.send({serverContent: {outputTranscription: {text}}});
  }

  /** Asks for calls, all in one message. One without an id gets one on the Gemini API, and has none on Vertex. Gives them as sent. */
  toolCall(calls: readonly FunctionCall[]): readonly FunctionCall[] {
    const functionCalls = calls.map(({name, args, id}) => {
      const own = id ?? (this.request.backend === 'vertex' ? undefined : this.#core.newCallId());
      return {...(name !== undefined && {name}), args: args ?? {}, ...(own !== undefined && {id: own})};
    });
    this.send({toolCall: {functionCalls}});
    return functionCalls;
  }

  // No recording holds the frames of the next three words: they are made by hand after https://ai.google.dev/api/live.

  /** Takes calls back. */
  cancelToolCalls(ids: readonly string[]): void {
    this.send({toolCallCancellation: {ids}});
  }

  /** Tells that the user has interrupted the model. The turn still has to be completed. */
  interrupt(): void {
    this.send({serverContent: {interrupted: true}});
  }

  /** Tells that the connection ends soon, for example in `'9.5s'`. */
  goAway(timeLeft: string): void {
    this.send({goAway: {timeLeft}});
  }

  completeGeneration(): void {
    this.send({serverContent: {generationComplete: true}});
  }

  completeTurn(usageMetadata?: Readonly<Record<string, unknown>>): void {
    this.send({serverContent: {turnComplete: true}, ...(usageMetadata && {usageMetadata})});
  }

  /** Offers a handle with which a later connection can go on from here. */
  offerResumption(newHandle: string, resumable = true): void {
    this.send({sessionResumptionUpdate: {newHandle, resumable}});
  }

  /** Stops reading: neither messages nor a close frame nor the end of the connection are seen until `resumeReading()`. */
  pauseReading(): void {
    this.#core.connection.pauseReading();
  }

  resumeReading(): void {
    this.#core.connection.resumeReading();
  }

  /** Waits, in real time. Rejects when the connection is gone before. */
  async delay(ms: number): Promise<void> {
    if (!(await this.#core.connection.delay(ms))) throw new LiveSessionClosedError('The session was closed before a delay was over');
  }

  /** Sends a close frame, with at most 123 bytes of the reason. The connection is gone when the client has answered. */
  close(code = 1000, reason = ''): void {
    this.#core.connection.close(code, reason);
  }

  /** Ends the TCP connection without a close frame. */
  drop(): void {
    this.#core.connection.drop();
  }

  #turn(part: object): void {
    const parts = [part];
    this.send({serverContent: {modelTurn: this.request.backend === 'vertex' ? {role: 'model', parts} : {parts}}});
  }
}
