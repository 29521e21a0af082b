import type {Content, Part} from '../../content.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import {newCallId} from '../../models/call-id.ts';

/** How often a malformed or empty reply is asked again. */
const MAX_REPEATS = 2;

/** Gives the function calls of one reply their ids: the same from a partial response to the whole one, and unlike any other in the session. */
export class CallIds {
  readonly #ids: string[] = [];
  readonly #isTaken: (id: string) => boolean;

  constructor(isTaken: (id: string) => boolean) {
    this.#isTaken = isTaken;
  }

  /** The content with ids on its calls, of which the first is the reply's `from`-th; the content itself where nothing is missing. */
  assign(content: Content, from: number): Content {
    const {parts = []} = content;
    let at = from;
    let named: Part[] | undefined;
    for (let index = 0; index < parts.length; index++) {
      const part = parts[index];
      if (!part?.functionCall) continue;
      // While arguments are streamed a call comes in fragments, of which only the first has a name.
      if (part.functionCall.name !== undefined) at++;
      const id = (this.#ids[Math.max(at - 1, 0)] ??= this.#newId(part.functionCall.id));
      if (part.functionCall.id === id) continue;
      named ??= [...parts];
      named[index] = {...part, functionCall: {...part.functionCall, id}};
    }
    return named ? {...content, parts: named} : content;
  }

  #newId(given: string | undefined): string {
    if (!given) return newCallId(crypto.randomUUID());
    return this.#isTaken(given) || this.#ids.includes(given) ? newCallId(crypto.randomUUID(), given) : given;
  }
}

/** How many calls begin in a content; while arguments are streamed, fragments of one that has begun do not count. */
export function countCalls(content: Content): number {
  let count = 0;
  for (const part of content.parts ?? []) if (part.functionCall?.name !== undefined) count++;
  return count;
}

/** One whole reply out of the whole responses of a call: parts in order, the last word on everything else. */
export function joinWhole(earlier: LlmResponse | undefined, later: LlmResponse): LlmResponse {
  if (!earlier) return later;
  const parts = [...(earlier.content?.parts ?? []), ...(later.content?.parts ?? [])];
  return {...earlier, ...later, ...(parts.length > 0 && {content: {role: 'model', parts}})};
}

/** A whole response in the form that an Event takes: with a role, without an empty content, with the reason why it cannot be used. */
export function completeReply(response: LlmResponse): LlmResponse {
  const {content, ...rest} = response;
  const reply: LlmResponse = {...rest};
  if (content?.parts?.length) reply.content = content.role ? content : {...content, role: 'model'};
  const {finishReason} = response;
  if (reply.errorCode === undefined && finishReason && finishReason !== 'STOP' && finishReason !== 'FINISH_REASON_UNSPECIFIED') {
    reply.errorCode = finishReason;
    reply.errorMessage ??= `The model ended its reply with ${finishReason}`;
  }
  return reply;
}

/** Whether there is anything in a reply: an empty text, even a signed one, is not. */
export function saysSomething(reply: LlmResponse): boolean {
  return (reply.content?.parts ?? []).some((part) => {
    const {text, thought: _thought, thoughtSignature: _signature, ...other} = part;
    return Boolean(text) || Object.values(other).some((value) => value !== undefined);
  });
}

/** The reply, unless asking again may help: then nothing, as long as it has not been asked too often. */
export function usableReply(response: LlmResponse, repeats: number): LlmResponse | undefined {
  const reply = completeReply(response);
  if (!isWorthAsking(reply)) return reply;
  if (repeats < MAX_REPEATS) return undefined;
  if (reply.errorCode !== undefined) return reply;
  return {...reply, errorCode: 'MODEL_RETURNED_NO_CONTENT', errorMessage: `The model replied without content ${repeats + 1} times`};
}

/** Whether asking again may help: the call that the model wrote could not be read, or it said nothing at all. */
function isWorthAsking(reply: LlmResponse): boolean {
  if (reply.errorCode !== undefined) return reply.errorCode === 'MALFORMED_FUNCTION_CALL';
  return !reply.interrupted && !saysSomething(reply);
}

/**
 * What partial responses have brought so far, joined where it belongs together; calls are left out, with whatever the
 * server itself answered to them. Only the joined text is kept, not the
 * responses: a long stream would otherwise hold every piece of itself.
 */
export class PartialReply {
  readonly #parts: Part[] = [];
  #open: {text: string; thought?: boolean} | undefined;

  add(response: LlmResponse): void {
    for (const part of response.content?.parts ?? []) {
      if (part.functionCall || part.functionResponse || (part.text === '' && !part.thoughtSignature)) continue;
      if (typeof part.text !== 'string' || part.thoughtSignature) {
        this.#parts.push(part);
        this.#open = undefined;
      } else if (this.#open && Boolean(this.#open.thought) === Boolean(part.thought)) this.#open.text += part.text;
      else {
        this.#open = part.thought ? {text: part.text, thought: true} : {text: part.text};
        this.#parts.push(this.#open);
      }
    }
  }

  get parts(): readonly Part[] {
    return this.#parts;
  }
}

/** Whether what a model gave can be read as a response at all. */
export function isResponse(response: LlmResponse): boolean {
  if (typeof response !== 'object' || response === null) return false;
  return areParts(response.content?.parts);
}

/** Whether what stands in a content is a list of parts, or nothing. */
export function areParts(parts: unknown): boolean {
  return parts === undefined || (Array.isArray(parts) && parts.every((part) => typeof part === 'object' && part !== null));
}
