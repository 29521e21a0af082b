import type {Content, Part} from '../../../lib/content.ts';
import {createEvent, type CreateEventParams, type Event} from '../../../lib/events/event.ts';
import {History, type HistoryOptions} from '../../../lib/agents/llm/history.ts';

/** The agent whose history the tests build. */
export const AGENT = 'clerk';

export function event(author: string, parts: Part[], params: CreateEventParams = {}): Event {
  return deepFreeze(createEvent({author, content: {role: author === 'user' ? 'user' : 'model', parts}, ...params}));
}

export function user(...said: (string | Part)[]): Event {
  return event('user', said.map(toPart));
}

export function model(...said: (string | Part)[]): Event {
  return event(AGENT, said.map(toPart));
}

/** The agent's response event: a user content, as dispatch writes it. */
export function results(parts: Part[], longRunningToolIds?: string[]): Event {
  return event(AGENT, parts, {content: {role: 'user', parts}, ...(longRunningToolIds && {longRunningToolIds})});
}

export function call(id: string, name: string = nameOf(id), args: Record<string, unknown> = {}): Part {
  return {functionCall: {id, name, args}};
}

export function result(id: string, response: Record<string, unknown>, name: string = nameOf(id)): Part {
  return {functionResponse: {id, name, response}};
}

export function pending(id: string): Part {
  return result(id, {status: 'pending'});
}

/** The contents for these events: asked for after every event, as a run may do. */
export function contentsOf(events: readonly Event[], options: Partial<HistoryOptions> = {}): Content[] {
  const history = new History({agentName: AGENT, includeContents: 'default', ...options});
  const list: Event[] = [];
  let contents: Content[] = history.contents(list);
  for (const next of events) {
    list.push(next);
    contents = history.contents(list);
  }
  return contents;
}

/** The contents as one line each: `user: hello`, `model: call a`, `user: a={"ok":true}`. */
export function script(contents: readonly Content[]): string[] {
  return contents.map(({role, parts}) => `${role}: ${(parts ?? []).map(toWords).join(' | ')}`);
}

function nameOf(id: string): string {
  return `tool_${id}`;
}

function toPart(said: string | Part): Part {
  return typeof said === 'string' ? {text: said} : said;
}

function toWords(part: Part): string {
  if (part.functionCall) return `call ${part.functionCall.id ?? part.functionCall.name}`;
  if (part.functionResponse) {
    return `${part.functionResponse.id ?? part.functionResponse.name}=${JSON.stringify(part.functionResponse.response)}`;
  }
  return part.text ?? JSON.stringify(part);
}

function deepFreeze<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.freeze(value);
    for (const item of Object.values(value)) deepFreeze(item);
  }
  return value;
}
