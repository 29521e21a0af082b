import type {FunctionCall, FunctionResponse, Part} from '../../content.ts';
import {isUserRequest, REQUEST_CONFIRMATION} from '../../context/requests.ts';
import type {Event} from '../../events/event.ts';
import type {ClientError} from './client-error.ts';
import type {StreamedEvent, StreamEnd} from './run-source.ts';
import type {StreamEncoder} from './stream-encoder.ts';
import type {UIFinishReason, UIMessageChunk} from './ui-message-chunk.ts';
import {callIdOf, UIReply} from './ui-reply.ts';

const BLOCKED: ReadonlySet<string> = new Set(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII', 'IMAGE_SAFETY']);

/**
 * A run as one message of the AI SDK's UI message stream. A step is a model's reply with the outputs of its calls.
 *
 * The output of a call that waits is not given as one: to `useChat` the call would be answered. A `data-waiting` part names the call. A call
 * that is to be confirmed is an approval that is requested.
 */
export class UIMessageEncoder implements StreamEncoder {
  readonly headers = {'content-type': 'text/event-stream', 'x-vercel-ai-ui-message-stream': 'v1'};
  readonly heartbeat = ': heartbeat\n\n';
  readonly #ids: {readonly invocationId: string; readonly messageId: string};
  #started = false;
  #blocks = 0;
  #reply: {readonly eventId: string; readonly ui: UIReply} | undefined;
  readonly #calls = new Set<string>();
  /** Of the replies the last whole one: how the message finishes. */
  #last: Event | undefined;

  constructor(ids: {readonly invocationId: string; readonly messageId: string}) {
    this.#ids = ids;
  }

  event({event}: StreamedEvent): string {
    const parts = event.content?.parts ?? [];
    const answers = parts.flatMap(({functionResponse}) => functionResponse ?? []);
    // Calls that the model's server answers stand in its reply, beside their responses.
    const isAnswer = answers.length > 0 && answers.length === parts.length;
    if (event.content?.role === 'user' && !isAnswer) return '';
    if (parts.some(({functionCall}) => isUserRequest(functionCall?.name)))
      return this.#written(parts.flatMap((part) => this.#request(part)));
    return this.#written(isAnswer ? answers.flatMap((answer) => this.#answer(event, answer)) : this.#replyChunks(event, parts));
  }

  end({outcome, failure}: StreamEnd): string {
    const steps: UIMessageChunk[] = this.#endStep();
    if (failure && (outcome?.kind === 'abort' || outcome?.kind === 'return')) {
      return this.#written([...steps, {type: 'abort', reason: failure.message}], true);
    }
    const refusal = outcome?.errorCode !== undefined && !hasContent(this.#last) ? refusalOf(this.#last, outcome.errorCode) : undefined;
    const error = failure ?? refusal;
    if (error) {
      const {code, message, retryDelayMs} = error;
      const metadata = {code, message, ...(retryDelayMs !== undefined && {retryDelayMs})};
      // Behind the error a client reads nothing.
      steps.push({type: 'message-metadata', messageMetadata: {error: metadata}}, {type: 'error', errorText: message});
    }
    const finishReason = error ? 'error' : outcome?.kind === 'waiting' ? 'tool-calls' : finishReasonOf(this.#last);
    const messageMetadata = outcome?.usage ? {usage: outcome.usage} : {};
    return this.#written([...steps, {type: 'finish', finishReason, messageMetadata}], true);
  }

  #written(chunks: readonly UIMessageChunk[], done = false): string {
    const {messageId, invocationId} = this.#ids;
    const start: UIMessageChunk[] = this.#started ? [] : [{type: 'start', messageId, messageMetadata: {invocationId}}];
    this.#started = true;
    const text = [...start, ...chunks].map((chunk) => `data: ${JSON.stringify(chunk)}\n\n`).join('');
    return done ? `${text}data: [DONE]\n\n` : text;
  }

  #replyChunks(event: Event, parts: readonly Part[]): UIMessageChunk[] {
    const chunks: UIMessageChunk[] = [];
    if (this.#reply?.eventId !== event.id) {
      chunks.push(...this.#endStep(), {type: 'start-step'});
      this.#reply = {eventId: event.id, ui: new UIReply(() => String(this.#blocks++))};
    }
    const {ui} = this.#reply;
    for (const {functionCall} of parts) if (functionCall) this.#calls.add(callIdOf(functionCall));
    if (event.partial) return [...chunks, ...ui.add(parts)];
    this.#last = event;
    return [...chunks, ...ui.complete(parts), ...sourceChunks(event)];
  }

  /** What the user of the app is asked for by a call: it belongs to the step of that call. */
  #request({functionCall: {id = '', name = '', args = {}} = {}}: Part): UIMessageChunk[] {
    const {originalFunctionCall: call} = args as {originalFunctionCall?: FunctionCall};
    if (name === REQUEST_CONFIRMATION && call)
      return [...this.#known(call), {type: 'tool-approval-request', approvalId: id, toolCallId: callIdOf(call)}];
    const data = {toolCallId: id, toolName: name, output: args};
    return [...this.#known({id, name, args}), {type: 'data-waiting', id, data}];
  }

  /** A client ends its stream where something comes for a call that it does not know. A message that goes on has its calls. */
  #known(call: FunctionCall): UIMessageChunk[] {
    const toolCallId = callIdOf(call);
    const {messageId, invocationId} = this.#ids;
    if (this.#calls.has(toolCallId) || (!call.args && messageId !== invocationId)) return [];
    this.#calls.add(toolCallId);
    return [{type: 'tool-input-available', toolCallId, toolName: call.name ?? '', input: call.args ?? {}}];
  }

  #endStep(): UIMessageChunk[] {
    if (!this.#reply) return [];
    const chunks = this.#reply.ui.close();
    this.#reply = undefined;
    return [...chunks, {type: 'finish-step'}];
  }

  #answer(event: Event, answer: FunctionResponse): UIMessageChunk[] {
    const toolCallId = callIdOf(answer);
    const toolName = answer.name ?? '';
    const output = answer.response;
    // A piece of a model's reply that its server has answered comes again, with its call, in the whole one.
    if (event.partial && !answer.willContinue) return [];
    const {requestedToolConfirmations: confirmations, requestedAuthConfigs: configs} = event.actions;
    // The call is told to wait by what it asks for.
    if (event.longRunningToolIds?.includes(toolCallId) && (toolCallId in confirmations || toolCallId in configs)) return [];
    const chunks = this.#known({id: toolCallId, name: toolName});
    if (event.partial) chunks.push({type: 'tool-output-available', toolCallId, output, preliminary: true});
    else if (event.longRunningToolIds?.includes(toolCallId))
      chunks.push({type: 'data-waiting', id: toolCallId, data: {toolCallId, toolName, output}});
    else if (typeof output?.['error'] === 'string') chunks.push({type: 'tool-output-error', toolCallId, errorText: output['error']});
    else chunks.push({type: 'tool-output-available', toolCallId, output});
    return chunks;
  }
}

function sourceChunks({id, groundingMetadata}: Event): UIMessageChunk[] {
  return (groundingMetadata?.groundingChunks ?? []).flatMap(({web}, at): UIMessageChunk[] => {
    if (web?.uri === undefined) return [];
    return [{type: 'source-url', sourceId: `${id}-${at}`, url: web.uri, ...(web.title !== undefined && {title: web.title})}];
  });
}

function hasContent(event: Event | undefined): boolean {
  return event?.content?.parts?.some(({text, thought}) => text !== '' && !thought) === true;
}

function refusalOf(event: Event | undefined, code: string): Omit<ClientError, 'hidden'> {
  return {code, message: event?.errorMessage ?? `The model gave no usable reply: ${code}`};
}

function finishReasonOf(event: Event | undefined): UIFinishReason {
  const reason = event?.errorCode ?? event?.finishReason ?? 'STOP';
  if (reason === 'STOP') return 'stop';
  if (reason === 'MAX_TOKENS') return 'length';
  return BLOCKED.has(reason) ? 'content-filter' : 'other';
}
