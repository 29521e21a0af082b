import type {Content, Part} from '../../content.ts';
import {REQUEST_CONFIRMATION} from '../../context/requests.ts';
import {expectOption} from '../../errors.ts';
import {isRecord} from '../../schema/is-record.ts';
import {toFunctionResponse} from '../../tools/tool-result.ts';
import {isPathName} from './path-name.ts';

/** What {@link readChatRequest} makes of a post of `useChat`. */
export interface ChatRequest {
  /** The chat's id. */
  readonly sessionId: string;
  /** What the user says, or the answers to calls that wait. */
  readonly newMessage: Content;
  /** The message with the answered calls, which the response goes on with: for the option of the same name. */
  readonly messageId: string | undefined;
  /** `'regenerate-message'`: the user asks for another answer to what was said before. */
  readonly trigger: 'submit-message' | 'regenerate-message';
}

type UIPart = Readonly<Record<string, unknown>>;

/**
 * Reads what `useChat` posts. Only the last message counts: the session has the rest, and what a client says of it proves nothing. A
 * user's text and files become parts; the outputs that the client has added to calls that wait become function responses, and so do its
 * responses to approvals. A session only
 * grows: a message that was edited, or is to be answered again, is said anew.
 *
 * @param body - the JSON of the request
 * @throws {@link InvalidOptionError} for what is no such post, has nothing to say, or leaves a call without its output
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent, StreamingMode} from 'sluice';
 * import {readChatRequest, startResponse} from 'sluice/serve';
 *
 * const runner = new InMemoryRunner({agent: new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash'}), autoCreateSession: true});
 *
 * export async function POST(request: Request): Promise<Response> {
 *   const {sessionId, newMessage, messageId} = readChatRequest(await request.json());
 *   const run = runner.runAsync({userId: 'u', sessionId, newMessage, runConfig: {streamingMode: StreamingMode.SSE}});
 *   return startResponse(run, {format: 'ui-message-stream', request, messageId});
 * }
 * ```
 */
export function readChatRequest(body: unknown): ChatRequest {
  expectOption(isRecord(body), 'body', 'an object with `id` and `messages`, as useChat posts it', body);
  const {id, messages, trigger = 'submit-message'} = body;
  expectOption(isPathName.accepts(id), 'id', `the id of a chat, ${isPathName.expected}`, id);
  expectOption(
    trigger === 'submit-message' || trigger === 'regenerate-message',
    'trigger',
    '"submit-message" or "regenerate-message"',
    trigger,
  );
  expectOption(Array.isArray(messages) && messages.length > 0, 'messages', 'an array of at least one message', messages);
  const message: unknown = messages.at(-1);
  const at = `messages[${messages.length - 1}]`;
  expectOption(isRecord(message), at, 'a message with `role` and `parts`', message);
  const {role, parts} = message;
  expectOption(role === 'user' || role === 'assistant', `${at}.role`, '"user", or "assistant" with outputs of calls that wait', role);
  expectOption(Array.isArray(parts) && parts.every(isPart), `${at}.parts`, 'an array of parts with a `type`', parts);
  if (role === 'user') {
    const said = parts.flatMap((part, index) => userPart(part, `${at}.parts[${index}]`));
    expectOption(said.length > 0, `${at}.parts`, 'parts with text or files', parts);
    return {sessionId: id as string, newMessage: {role, parts: said}, messageId: undefined, trigger};
  }
  const answers = answersIn(parts, `${at}.parts`);
  expectOption(typeof message['id'] === 'string' && message['id'] !== '', `${at}.id`, 'the id of the message', message['id']);
  return {sessionId: id as string, newMessage: {role: 'user', parts: answers}, messageId: message['id'], trigger};
}

function isPart(part: unknown): part is UIPart {
  return isRecord(part) && typeof part['type'] === 'string';
}

/** What a user can say to a model; parts that are only shown, such as data, are no part of it. */
function userPart(part: UIPart, at: string): Part[] {
  const {type, text, url, mediaType} = part;
  if (type === 'text') {
    expectOption(typeof text === 'string', `${at}.text`, 'a string', text);
    return text === '' ? [] : [{text}];
  }
  if (type !== 'file') return [];
  expectOption(typeof mediaType === 'string' && mediaType !== '', `${at}.mediaType`, 'a media type', mediaType);
  expectOption(typeof url === 'string', `${at}.url`, 'a URL', url);
  return [filePart(url, mediaType, `${at}.url`)];
}

function filePart(url: string, mimeType: string, at: string): Part {
  if (/^(https?|gs):\/\//i.test(url)) return {fileData: {fileUri: url, mimeType}};
  const data = /^data:[^,]*;base64,([\w+/=-]*)$/i.exec(url)?.[1];
  expectOption(data !== undefined, at, 'a URL with `https:`, `http:` or `gs:`, or a `data:` URL in base64', url);
  return {inlineData: {mimeType, data}};
}

/** The outputs that the client has added to the calls that wait: those of the last step, whose calls `data-waiting` parts name. */
function answersIn(parts: readonly UIPart[], at: string): Part[] {
  const waiting = new Set(parts.flatMap(({type, id}) => (type === 'data-waiting' ? [id] : [])));
  const lastStep = parts.slice(parts.findLastIndex(({type}) => type === 'step-start') + 1);
  const calls = lastStep.filter(({toolCallId, state}) => toolCallId !== undefined && (waiting.has(toolCallId) || isApproval(state)));
  expectOption(calls.length > 0, at, 'parts with calls that wait for an output, in the last step of the message', parts);
  return calls.map((call) => ({functionResponse: answerOf(call, at)}));
}

function answerOf(call: UIPart, at: string): NonNullable<Part['functionResponse']> {
  const {type, toolName, toolCallId, state, output, errorText, preliminary} = call;
  const id = String(toolCallId);
  if (isApproval(state)) return approvalOf(call, at);
  // What the tool itself has shown on its way is no answer.
  const isAnswered = (state === 'output-available' && preliminary !== true) || state === 'output-error';
  expectOption(isAnswered, at, `outputs for all calls that wait, also for \`${id}\``, state);
  const name = typeof toolName === 'string' ? toolName : String(type).replace(/^tool-/, '');
  if (state === 'output-error') return {id, name, response: {error: typeof errorText === 'string' ? errorText : 'failed'}};
  return {id, name, response: toFunctionResponse(output).response};
}

/** Whether a call is to be confirmed: `useChat` has a word of its own for it. */
function isApproval(state: unknown): boolean {
  return state === 'approval-requested' || state === 'approval-responded';
}

function approvalOf({approval, state, toolCallId}: UIPart, at: string): NonNullable<Part['functionResponse']> {
  const {id, approved, reason} = isRecord(approval) ? approval : {};
  const isAnswered = state === 'approval-responded' && typeof id === 'string' && typeof approved === 'boolean';
  expectOption(isAnswered, at, `a response to every approval that is requested, also for \`${String(toolCallId)}\``, state);
  return {id, name: REQUEST_CONFIRMATION, response: {confirmed: approved, ...(typeof reason === 'string' && {reason})}};
}
