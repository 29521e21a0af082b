import {PartialReply} from '../agents/llm/model-reply.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {Closing, Unfinished} from '../agents/open-work.ts';
import type {Part, Transcription} from '../content.ts';
import {createEventActions, NO_ACTIONS, type EventActions} from '../events/event-actions.ts';
import {stringifyContent, type Event} from '../events/event.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {givenFields} from './given-fields.ts';
import type {LiveRecorder} from './live-recorder.ts';
import {Transcript} from './transcript.ts';

export interface LiveTurnOptions {
  readonly ctx: InvocationContext;
  readonly outputKey: string | undefined;
  /** Hands over what hooks have written since the last time. */
  readonly takeActions: () => EventActions;
  readonly recorder: LiveRecorder | undefined;
}

/**
 * Makes Events of what a live connection brings: a partial one of each piece, and a whole one, with all text and without sound, where
 * somebody finishes. Partial Events carry the id of the whole one that they are pieces of.
 */
export class LiveTurn implements Unfinished {
  readonly #options: LiveTurnOptions;
  #eventId = crypto.randomUUID();
  #said = new PartialReply();
  readonly #heard = new Transcript();
  readonly #spoken = new Transcript();
  #told: Partial<Event> = {};

  constructor(options: LiveTurnOptions) {
    this.#options = options;
  }

  /** Whether the model has said anything that is not in a whole Event yet. */
  get isOpen(): boolean {
    return this.#said.parts.length > 0 || this.#spoken.isOpen;
  }

  /** The Events of a response, but for its calls: in order, whole ones last. */
  take(response: LlmResponse): Event[] {
    const {interrupted, turnComplete, errorCode, content} = response;
    this.#told = {...this.#told, ...givenFields(response, TOLD)};
    const events = [...this.#signals(response), ...this.#hear(response.inputTranscription)];
    if (interrupted) events.push(...this.finishInput(), this.#whole({interrupted}));
    // What the user has said stands before what the model says to it, or calls for it.
    if (content?.parts?.length || response.outputTranscription?.text) events.push(...this.finishInput());
    const parts = (content?.parts ?? []).filter((part) => !part.functionCall);
    if (parts.length > 0) events.push(this.#say(parts));
    if (response.outputTranscription) events.push(...this.#speak(response.outputTranscription));
    if (turnComplete || errorCode !== undefined)
      events.push(...this.finishInput(), this.#whole({...(turnComplete !== undefined && {turnComplete})}));
    return events;
  }

  /** The whole Event of calls, with what the model has said before them. */
  call(parts: readonly Part[]): Event {
    return this.#whole({}, parts);
  }

  /** What the model has said so far as a whole Event, where the connection will bring no more of it. */
  breakOff(): Event[] {
    return [...this.finishInput(), ...(this.isOpen ? [this.#whole({interrupted: true})] : [])];
  }

  /** What the user has said so far as a whole Event. */
  finishInput(): Event[] {
    const heard = this.#heard.finish();
    return heard ? [this.#userEvent(heard.id, {inputTranscription: heard.transcription})] : [];
  }

  /** What a stop leaves: what was said, marked. */
  async close(_closing: Closing): Promise<Event[]> {
    const events = [...this.finishInput(), ...(this.isOpen ? [this.#whole({customMetadata: {stopped: true}})] : [])];
    for (const event of events) await this.#options.recorder?.note(event)();
    return events;
  }

  #signals(response: LlmResponse): Event[] {
    const {goAway, liveSessionId, liveSessionResumptionUpdate, toolCallCancellation, generationComplete} = response;
    const signals: Partial<Event> = {
      ...(goAway && {goAway}),
      ...(liveSessionId !== undefined && {liveSessionId}),
      ...(liveSessionResumptionUpdate && {liveSessionResumptionUpdate}),
      ...(toolCallCancellation && {toolCallCancellation}),
      ...(generationComplete && {generationComplete}),
      ...(response.usageMetadata && !response.turnComplete && {usageMetadata: response.usageMetadata}),
    };
    return Object.keys(signals).length > 0 ? [this.#partial(signals)] : [];
  }

  #hear(fragment: Transcription | undefined): Event[] {
    if (!fragment) return [];
    this.#heard.add(fragment);
    const events: Event[] = [];
    if (fragment.text)
      events.push({...this.#userEvent(this.#heard.id, {inputTranscription: fragment}), partial: true, actions: NO_ACTIONS});
    return fragment.finished ? [...events, ...this.finishInput()] : events;
  }

  #speak(fragment: Transcription): Event[] {
    this.#spoken.add(fragment);
    return fragment.text ? [this.#partial({outputTranscription: fragment})] : [];
  }

  #say(parts: Part[]): Event {
    this.#said.add({content: {role: 'model', parts: parts.filter((part) => !part.inlineData)}});
    return this.#partial({content: {role: 'model', parts}});
  }

  #partial(fields: Partial<Event>): Event {
    return {...this.#event(this.#eventId, fields), partial: true, actions: NO_ACTIONS};
  }

  #whole(fields: Partial<Event>, calls: readonly Part[] = []): Event {
    const parts = [...this.#said.parts, ...calls];
    const spoken = this.#spoken.finish();
    const event = this.#event(this.#eventId, {
      ...this.#told,
      ...fields,
      ...(parts.length > 0 && {content: {role: 'model', parts}}),
      ...(spoken && {outputTranscription: spoken.transcription}),
      actions: this.#options.takeActions(),
    });
    this.#keepOutput(event);
    this.#eventId = crypto.randomUUID();
    this.#said = new PartialReply();
    this.#told = {};
    return event;
  }

  /** The text of a finished turn, under the agent's `outputKey`. */
  #keepOutput(event: Event): void {
    const {outputKey} = this.#options;
    if (outputKey === undefined || !event.turnComplete) return;
    const text = stringifyContent(event) || event.outputTranscription?.text;
    if (text) event.actions.stateDelta[outputKey] = text;
  }

  #userEvent(id: string, fields: Partial<Event>): Event {
    return {...this.#event(id, fields), author: 'user'};
  }

  #event(id: string, fields: Partial<Event>): Event {
    const {invocationId, branch, agentName} = this.#options.ctx;
    const event: Event = {
      ...fields,
      id,
      invocationId,
      author: agentName,
      timestamp: Date.now(),
      actions: fields.actions ?? createEventActions(),
    };
    if (branch !== undefined) event.branch = branch;
    return event;
  }
}

/** What a response tells beside what it says. The next whole Event takes it. */
const TOLD = [
  'usageMetadata',
  'groundingMetadata',
  'citationMetadata',
  'modelVersion',
  'finishReason',
  'errorCode',
  'errorMessage',
  'customMetadata',
] as const;
