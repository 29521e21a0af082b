/** Recorded Live sessions, and what a correct client must make of them. The data lies beside the project and is never copied into it. */
import {existsSync, readFileSync} from 'node:fs';

import type {Content} from '../../../lib/content.ts';
import type {BaseLlmConnection, RealtimeInput} from '../../../lib/models/base-llm-connection.ts';
import type {LlmResponse} from '../../../lib/models/llm-response.ts';
import type {LiveRecordedMessage} from '../../../lib/testing/index.ts';

interface RecordedCall {
  readonly id: string | null;
  readonly name: string;
  readonly args: unknown;
}

export interface LiveRecording {
  readonly id: string;
  readonly backend: 'gemini' | 'vertex';
  readonly messages: readonly LiveRecordedMessage[];
  readonly expect: LiveOutcome & {readonly calls: readonly RecordedCall[]};
}

/** What comes out of a session, reduced to what a recording can say about it. */
export interface LiveOutcome {
  readonly calls: readonly RecordedCall[];
  readonly text: string;
  readonly inTr: string;
  readonly outTr: string;
  readonly audioBytes: number;
  readonly turns: number;
  readonly gen: number;
  readonly interrupted: number;
  readonly usage?: unknown;
}

export function loadLiveRecordings(): LiveRecording[] {
  const file = new URL('../../../../shared/recordings/live.jsonl', import.meta.url);
  if (!existsSync(file)) {
    process.stderr.write(`\n*** The recorded Live sessions are missing (${file.pathname}): their tests are skipped ***\n\n`);
    return [];
  }
  const lines = readFileSync(file, 'utf8').trimEnd().split('\n');
  return lines.map((line) => JSON.parse(line) as LiveRecording);
}

/** What a recording says must come out, with the names of tokens that both backends are given. */
export function expectedOutcome({expect}: LiveRecording): LiveOutcome {
  const {calls, text, inTr, outTr, audioBytes, turns, gen, interrupted, usage} = expect;
  const renamed = JSON.stringify(usage ?? null).replaceAll('"response', '"candidates');
  return {calls, text, inTr, outTr, audioBytes, turns, gen, interrupted, usage: JSON.parse(renamed) as unknown};
}

export function outcomeOf(responses: readonly LlmResponse[]): LiveOutcome {
  const parts = responses.flatMap(({content}) => content?.parts ?? []);
  const count = (signal: 'turnComplete' | 'generationComplete' | 'interrupted'): number =>
    responses.filter((response) => response[signal] === true).length;
  return {
    calls: parts.flatMap(({functionCall}) =>
      functionCall ? [{id: functionCall.id ?? null, name: functionCall.name ?? '', args: functionCall.args}] : [],
    ),
    text: parts.map(({text, thought}) => (thought ? '' : (text ?? ''))).join(''),
    inTr: responses.map(({inputTranscription}) => inputTranscription?.text ?? '').join(''),
    outTr: responses.map(({outputTranscription}) => outputTranscription?.text ?? '').join(''),
    // As the recordings count: with the padding.
    audioBytes: parts.reduce((sum, {inlineData}) => sum + Math.floor(((inlineData?.data ?? '').length * 3) / 4), 0),
    turns: count('turnComplete'),
    gen: count('generationComplete'),
    interrupted: count('interrupted'),
    usage: responses.findLast(({usageMetadata}) => usageMetadata !== undefined)?.usageMetadata ?? null,
  };
}

/** Sends again, over a connection of ours, what a recorded client has sent. */
export async function sendAgain(connection: BaseLlmConnection, messages: readonly LiveRecordedMessage[]): Promise<void> {
  for (const [from, message] of messages) {
    if (from === '>') await sendOne(connection, camelCase(message));
  }
}

interface ClientMessage {
  readonly clientContent?: {readonly turns: readonly Content[]; readonly turnComplete: boolean};
  readonly realtimeInput?: RealtimeInput & {readonly mediaChunks?: readonly NonNullable<RealtimeInput['audio']>[]};
  readonly toolResponse?: {readonly functionResponses: readonly NonNullable<NonNullable<Content['parts']>[number]['functionResponse']>[]};
}

async function sendOne(connection: BaseLlmConnection, message: ClientMessage): Promise<void> {
  const {clientContent, realtimeInput, toolResponse} = message;
  if (clientContent?.turnComplete === false) await connection.sendHistory(clientContent.turns);
  else for (const turn of clientContent?.turns ?? []) await connection.sendContent(turn);
  const {mediaChunks, ...input} = realtimeInput ?? {};
  for (const audio of mediaChunks ?? []) await connection.sendRealtime({audio});
  if (Object.keys(input).length > 0) await connection.sendRealtime(input);
  const responses = toolResponse?.functionResponses ?? [];
  if (responses.length > 0) await connection.sendContent({role: 'user', parts: responses.map((functionResponse) => ({functionResponse}))});
}

function camelCase(message: Readonly<Record<string, unknown>>): ClientMessage {
  const rename = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());
  return Object.fromEntries(Object.entries(message).map(([name, value]) => [rename(name), value]));
}
