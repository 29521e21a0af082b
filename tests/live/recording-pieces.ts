/** What a session tells, piece by piece: the same for the frames of a server and for the Events that a run makes of them. */
import type {Event, Part, UsageMetadata} from 'sluice';
import type {Transcription} from '../../lib/content.ts';
import {wireCallId} from '../../lib/models/call-id.ts';
import type {LiveOutcome} from '../gemini/live/live-recordings.ts';
import type {ServerMessage} from './recording-sessions.ts';

export type Piece =
  | {readonly sessionId: string}
  | {readonly generationComplete: true}
  | {readonly turnComplete: true}
  | {readonly interrupted: true}
  | {readonly resumption: object}
  | {readonly usage: object}
  | {readonly heard: Transcription}
  | {readonly part: Part}
  | {readonly spoken: Transcription}
  | {readonly calls: readonly RecordedCall[]};

type RecordedCall = LiveOutcome['calls'][number];

/** The pieces of a frame, in the order in which a reader is to see them. */
export function piecesOfFrame({serverContent = {}, toolCall, ...message}: ServerMessage): readonly Piece[] {
  const {generationComplete, interrupted, turnComplete, inputTranscription, modelTurn, outputTranscription} = serverContent;
  const usage = message.usageMetadata && renamed(message.usageMetadata);
  const sessionId = message.setupComplete?.sessionId;
  const calls = toolCall?.functionCalls.map(({id = null, name, args}) => ({id, name, args}));
  return [
    ...(sessionId ? [{sessionId}] : []),
    ...(generationComplete ? [{generationComplete}] : []),
    ...(message.sessionResumptionUpdate ? [{resumption: message.sessionResumptionUpdate}] : []),
    ...(usage && !turnComplete ? [{usage}] : []),
    ...(interrupted ? [{interrupted}] : []),
    ...(inputTranscription?.text ? [{heard: inputTranscription}] : []),
    ...(modelTurn?.parts ?? []).map((part) => ({part})),
    ...(outputTranscription?.text ? [{spoken: outputTranscription}] : []),
    ...(calls ? [{calls}] : []),
    ...(usage && turnComplete ? [{usage}] : []),
    ...(turnComplete ? [{turnComplete}] : []),
  ] as readonly Piece[];
}

/** The pieces of an Event: of a whole one only what no partial one has told. */
export function piecesOfEvent(event: Event): readonly Piece[] {
  const {liveSessionId, generationComplete, turnComplete, interrupted, liveSessionResumptionUpdate, usageMetadata, partial} = event;
  const parts = event.content?.parts ?? [];
  const calls = parts.flatMap(({functionCall}) => (functionCall ? [recordedCall(functionCall)] : []));
  const tellsUsage = usageMetadata !== undefined && (partial === true || turnComplete === true);
  return [
    ...(liveSessionId === undefined ? [] : [{sessionId: liveSessionId}]),
    ...(generationComplete ? [{generationComplete}] : []),
    ...(liveSessionResumptionUpdate ? [{resumption: liveSessionResumptionUpdate}] : []),
    ...(tellsUsage && !turnComplete ? [{usage: usageMetadata}] : []),
    ...(interrupted ? [{interrupted}] : []),
    ...(partial && event.inputTranscription ? [{heard: event.inputTranscription}] : []),
    ...(partial ? parts.map((part) => ({part})) : []),
    ...(partial && event.outputTranscription ? [{spoken: event.outputTranscription}] : []),
    ...(calls.length > 0 ? [{calls}] : []),
    ...(tellsUsage && turnComplete ? [{usage: usageMetadata}] : []),
    ...(turnComplete ? [{turnComplete}] : []),
  ] as readonly Piece[];
}

/** What pieces come to, in the form of the recordings. */
export function outcomeOfPieces(pieces: readonly Piece[]): LiveOutcome & {readonly flags: readonly string[]} {
  const parts = each(pieces, 'part');
  const textOf = (spoken: readonly Transcription[]): string => spoken.map(({text}) => text).join('');
  return {
    calls: each(pieces, 'calls').flat(),
    text: parts.map(({text, thought}) => (thought ? '' : (text ?? ''))).join(''),
    inTr: textOf(each(pieces, 'heard')),
    outTr: textOf(each(pieces, 'spoken')),
    // As the recordings count: with the padding.
    audioBytes: parts.reduce((sum, {inlineData}) => sum + Math.floor(((inlineData?.data ?? '').length * 3) / 4), 0),
    turns: each(pieces, 'turnComplete').length,
    gen: each(pieces, 'generationComplete').length,
    interrupted: each(pieces, 'interrupted').length,
    usage: each(pieces, 'usage').at(-1) ?? null,
    flags: [
      ...(parts.some(({thought}) => thought) ? ['thought'] : []),
      ...(parts.some(({executableCode}) => executableCode) ? ['executableCode'] : []),
      ...(each(pieces, 'resumption').length > 0 ? ['sessionResumptionUpdate'] : []),
    ],
  };
}

/** How often the model began to speak or to call: after calls and after the end of a turn it begins anew. */
export function repliesIn(pieces: readonly Piece[]): number {
  let [replies, speaks] = [0, false];
  for (const piece of pieces) {
    const says = 'part' in piece || 'spoken' in piece || 'calls' in piece;
    if (says && !speaks) replies += 1;
    if (says || 'turnComplete' in piece) speaks = says && !('calls' in piece);
  }
  return replies;
}

/** The sums of all numbers in all usages. */
export function usageIn(pieces: readonly Piece[]): UsageMetadata | undefined {
  let sum: Record<string, number> | undefined;
  for (const usage of each(pieces, 'usage')) {
    sum ??= {};
    for (const [name, value] of Object.entries(usage)) if (typeof value === 'number') sum[name] = (sum[name] ?? 0) + value;
  }
  return sum;
}

/** What all pieces of this kind hold. */
export function each<K extends KeyOf<Piece>>(pieces: readonly Piece[], kind: K): readonly ValueOf<Piece, K>[] {
  return pieces.flatMap((piece) => (kind in piece ? [(piece as Record<K, ValueOf<Piece, K>>)[kind]] : []));
}

type KeyOf<T> = T extends T ? keyof T : never;
type ValueOf<T, K extends PropertyKey> = T extends Record<K, infer V> ? V : never;

/** With the id that the server gave, and none where it gave none. */
export function recordedCall({id = '', name = '', args}: {id?: string; name?: string; args?: object}): RecordedCall {
  return {id: wireCallId(id) || null, name, args};
}

/** Tokens by the names that both backends are given. */
function renamed(usage: object): object {
  return JSON.parse(JSON.stringify(usage).replaceAll('"response', '"candidates')) as object;
}
