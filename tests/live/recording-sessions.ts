/** Recorded Live sessions as an agent, its tools, its user and a server can have them again. */
import type {Blob, Content, FunctionResponse, LiveConnectConfig, Schema, Transcription} from '../../lib/content.ts';
import type {LiveRecordedMessage} from '../../lib/testing/index.ts';
import {loadLiveRecordings, type LiveRecording} from '../gemini/live/live-recordings.ts';

/** A message of a client, with its kind in camel case. */
export interface ClientMessage {
  readonly setup?: ClientSetup;
  readonly clientContent?: {readonly turns?: readonly Content[]; readonly turnComplete?: boolean};
  readonly realtimeInput?: ClientInput;
  readonly toolResponse?: {readonly functionResponses: readonly FunctionResponse[]};
}

export interface ClientSetup extends Pick<
  LiveConnectConfig,
  'realtimeInputConfig' | 'inputAudioTranscription' | 'outputAudioTranscription'
> {
  readonly model: string;
  readonly generationConfig?: {readonly responseModalities?: readonly string[]};
  readonly systemInstruction?: Content;
  readonly tools?: readonly {readonly functionDeclarations: readonly ClientTool[]}[];
  readonly sessionResumption?: object;
}

export interface ClientTool {
  readonly name: string;
  readonly description: string;
  readonly parameters: Schema;
}

export interface ClientInput {
  readonly audio?: Blob;
  readonly text?: string;
  readonly activityStart?: Readonly<Record<string, never>>;
  readonly activityEnd?: Readonly<Record<string, never>>;
  readonly audioStreamEnd?: boolean;
  /** What clients sent before there was `audio`. */
  readonly mediaChunks?: readonly Blob[];
}

/** A message of a server. */
export interface ServerMessage {
  readonly setupComplete?: {readonly sessionId?: string};
  readonly serverContent?: {
    readonly modelTurn?: Content;
    readonly inputTranscription?: Transcription;
    readonly outputTranscription?: Transcription;
    readonly generationComplete?: boolean;
    readonly turnComplete?: boolean;
    readonly interrupted?: boolean;
  };
  readonly toolCall?: {readonly functionCalls: readonly {readonly id?: string; readonly name: string; readonly args: object}[]};
  readonly sessionResumptionUpdate?: object;
  readonly usageMetadata?: Readonly<Record<string, unknown>>;
}

/** A recorded session that can be played. */
export interface RecordedSession extends LiveRecording {
  /** What the recorded client sent. */
  readonly client: readonly ClientMessage[];
  /** What the server sent; a setup is always acknowledged. */
  readonly server: readonly ServerMessage[];
  /** What the server plays: all but for the client's messages that no run can send. */
  readonly playable: readonly LiveRecordedMessage[];
  /** Whether it ends with the end of a turn, and not in the middle of it. */
  readonly isWhole: boolean;
}

/** All recorded sessions; none, and a loud line, where they are missing. */
export function loadSessions(): readonly RecordedSession[] {
  return loadLiveRecordings().map((recorded) => {
    const client = messagesOf(recorded, '>').map(inCamelCase);
    const server = messagesOf(recorded, '<') as ServerMessage[];
    const playable = recorded.messages.filter(([from, message]) => from === '<' || !isOutOfTheBlue(recorded, inCamelCase(message)));
    return {...recorded, client, server, playable, isWhole: server.at(-1)?.serverContent?.turnComplete === true};
  });
}

/** Whether a client's message answers a call that nobody has made. */
export function isOutOfTheBlue({expect}: LiveRecording, {toolResponse}: ClientMessage): boolean {
  return toolResponse !== undefined && expect.calls.length === 0;
}

function messagesOf({messages}: LiveRecording, direction: '>' | '<'): object[] {
  return messages.filter(([from]) => from === direction).map(([, message]) => message);
}

/** Some clients wrote protobuf's other spelling of a message's kind. */
export function inCamelCase(message: object): ClientMessage {
  const entries = Object.entries(message).map(([kind, payload]: [string, unknown]) => [
    kind.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase()),
    payload,
  ]);
  return Object.fromEntries(entries) as ClientMessage;
}
