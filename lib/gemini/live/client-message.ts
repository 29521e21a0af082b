import type {Blob, Content, FunctionResponse, Part} from '../../content.ts';
import {InvalidOptionError} from '../../errors.ts';
import type {RealtimeInput} from '../../models/base-llm-connection.ts';
import {cleanContent} from '../to-genai.ts';

/** What is sent after the setup. */
export type ClientMessage =
  | {readonly clientContent: {readonly turns?: readonly Content[]; readonly turnComplete: boolean}}
  | {readonly toolResponse: {readonly functionResponses: readonly FunctionResponse[]}}
  | {readonly realtimeInput: RealtimeInput};

const realtimeKinds = ['audio', 'video', 'text', 'activityStart', 'activityEnd', 'audioStreamEnd'] as const;

/** What was said before. Live takes text only; a thought is not part of a conversation. */
export function historyTurns(history: readonly Content[]): Content[] {
  return history.flatMap(({role = 'user', parts = []}) => {
    const texts = parts.flatMap(({text, thought}): Part[] => (text && thought !== true ? [{text}] : []));
    return texts.length > 0 ? [{role, parts: texts}] : [];
  });
}

/**
 * A turn of the user, or the answers to calls.
 *
 * @throws {@link InvalidOptionError} for a content that says nothing, or both
 */
export function contentMessage(content: Content, vertexai: boolean): ClientMessage {
  const cleaned = cleanContent(content, vertexai);
  if (cleaned?.parts === undefined) throw new InvalidOptionError('content', 'a content with a part that says something', content);
  const functionResponses = cleaned.parts.flatMap(({functionResponse}) => functionResponse ?? []);
  if (functionResponses.length === 0) return {clientContent: {turns: [{role: 'user', ...cleaned}], turnComplete: true}};
  if (functionResponses.length < cleaned.parts.length)
    throw new InvalidOptionError('content.parts', 'function responses only, or none of them', cleaned.parts);
  return {toolResponse: {functionResponses}};
}

/** @throws {@link InvalidOptionError} unless exactly one kind of input is there */
export function realtimeMessage(input: RealtimeInput): ClientMessage {
  const set = realtimeKinds.filter((kind) => input[kind] !== undefined);
  const [kind] = set;
  if (kind === undefined || set.length > 1) {
    const got = set.length > 1 ? set.join(' and ') : input;
    throw new InvalidOptionError('input', `one of ${realtimeKinds.join(', ')}`, got);
  }
  if (kind === 'audio' || kind === 'video') checkBlob(kind, input[kind]);
  return {realtimeInput: {[kind]: input[kind]}};
}

/** Bytes as they are would be sent as an object of numbers, for which the server closes the connection. */
function checkBlob(kind: 'audio' | 'video', blob: Blob | undefined): void {
  for (const field of ['mimeType', 'data'] as const) {
    const expected = field === 'data' ? 'a string in base64' : 'a string';
    if (typeof blob?.[field] !== 'string') throw new InvalidOptionError(`input.${kind}.${field}`, expected, blob?.[field]);
  }
}

/** Whether the model owes something to who sent this: it goes on talking without a word where an answer may wait. */
export function asksForAnswer(message: ClientMessage): boolean {
  if ('clientContent' in message) return message.clientContent.turnComplete;
  return 'toolResponse' in message && message.toolResponse.functionResponses.some(isAwaited);
}

function isAwaited({scheduling, willContinue}: FunctionResponse): boolean {
  return scheduling === undefined ? willContinue !== true : scheduling !== 'SILENT' && scheduling !== 'WHEN_IDLE';
}
