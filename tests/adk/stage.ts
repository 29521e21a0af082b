import {FinishReason, type Part} from '@google/genai';
import * as sluice from 'sluice';
import type {BaseLlm, Event, LlmRequest, LlmResponse} from 'sluice';
import * as plugins from 'sluice/plugins';

/** The names that a program takes from its package. What stands in an entry beside `sluice` is what docs/from-adk.md says to import there. */
export type Names = typeof sluice & Pick<typeof plugins, 'LoggingPlugin' | 'GlobalInstructionPlugin'>;

export const sluiceNames: Names = {...sluice, ...plugins};

/** One answer of the model: its text, its parts, or all that it sends. */
export type Reply = string | readonly Part[] | readonly LlmResponse[];

/** What a program is played on: scripted models, and a record of what was seen. */
export interface Stage {
  /** A model that gives these replies, one a call. */
  readonly model: (name: string, replies: readonly Reply[]) => BaseLlm;
  /** Records an Event that a program's reader got. */
  readonly read: (event: Event) => void;
  /** Records anything else that a user would look at. */
  readonly note: (name: string, value: unknown) => void;
}

/** A program as it would be written for ADK, with its import line as the parameter. */
export type Program = (names: Names, stage: Stage) => Promise<void>;

/** What a program did: JSON throughout. */
export interface Transcript {
  readonly events: unknown[];
  /** By model, in the order of its calls. */
  readonly requests: Record<string, unknown[]>;
  readonly notes: Record<string, unknown>;
}

/** Plays a program on one package. What it throws is a note. */
export async function play(program: Program, names: Names): Promise<Transcript> {
  const transcript: Transcript = {events: [], requests: {}, notes: {}};
  const stage: Stage = {
    model: (name, replies) => scripted(names, name, replies, (transcript.requests[name] = [])),
    read: (event) => transcript.events.push(plain(event)),
    note: (name, value) => (transcript.notes[name] = plain(value)),
  };
  await program(names, stage).catch((error: unknown) => (transcript.notes['thrown'] = String(error)));
  return transcript;
}

function scripted({BaseLlm: Base}: Names, model: string, replies: readonly Reply[], requests: unknown[]): BaseLlm {
  class Scripted extends Base {
    async *generateContentAsync(request: LlmRequest, stream = false): AsyncGenerator<LlmResponse, void, undefined> {
      const reply = replies[requests.length];
      requests.push(plain({contents: request.contents, config: request.config}));
      if (reply === undefined) throw new Error(`${model} has no reply ${requests.length}`);
      for (const response of responses(reply)) if (stream || !response.partial) yield structuredClone(response);
    }

    override async connect(): Promise<never> {
      throw new Error('not a live model');
    }
  }
  return new Scripted({model});
}

function responses(reply: Reply): readonly LlmResponse[] {
  if (typeof reply === 'string') return [whole([{text: reply}])];
  return reply.every((part) => !('content' in part)) ? [whole(reply as readonly Part[])] : (reply as readonly LlmResponse[]);
}

/** A reply of these parts that is complete. */
export const whole = (parts: readonly Part[]): LlmResponse => ({
  content: {role: 'model', parts: [...parts]},
  finishReason: FinishReason.STOP,
});
/** A piece of a reply that is streamed. */
export const piece = (text: string): LlmResponse => ({content: {role: 'model', parts: [{text}]}, partial: true});
/** The part with which a model calls a tool. */
export const call = (name: string, args: Record<string, unknown> = {}): Part => ({functionCall: {name, args}});
/** What a user says. */
export const says = (text: string): {role: string; parts: Part[]} => ({role: 'user', parts: [{text}]});

function plain(value: unknown): unknown {
  return value === undefined ? null : JSON.parse(JSON.stringify(value));
}
