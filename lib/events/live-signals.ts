import type {LiveServerGoAway, LiveServerSessionResumptionUpdate, LiveServerToolCallCancellation, Transcription} from '../content.ts';

/** What a model tells on a live connection, besides content. Names and shapes are those of Gemini's Live API, as ADK passes them on. */
export interface LiveSignals {
  /** The model's turn is over: it waits for the user. */
  turnComplete?: boolean;
  /** The user has cut the model off: what of its turn was not played yet should not be played any more. */
  interrupted?: boolean;
  /** The model has generated all of its turn. Where it paces itself by playback, `turnComplete` comes later. */
  generationComplete?: boolean;
  /** What the user said: a fragment in a partial Event, the whole with `finished: true` in one that is stored. */
  inputTranscription?: Transcription;
  /** What the model said: a fragment in a partial Event, the whole with `finished: true` in one that is stored. */
  outputTranscription?: Transcription;
  /** Calls that the model no longer wants an answer to. */
  toolCallCancellation?: LiveServerToolCallCancellation;
  /** The server closes the connection soon. A live run goes on with a new one by itself. */
  goAway?: LiveServerGoAway;
  /** How a later connection can go on where this one was. A live run does that by itself. */
  liveSessionResumptionUpdate?: LiveServerSessionResumptionUpdate;
  /** The server's own id of the connection's session, where it tells one. */
  liveSessionId?: string;
}
