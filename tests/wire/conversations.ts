/** Recorded conversations: what the user, the model and the tools said in them, taken out of the requests that a recorded client sent. */
import type {Content, Part} from '../../lib/content.ts';
import {loadRecordings, type Recording} from '../gemini/recordings.ts';

/** Exchanges of one file, each of which continues the one before. */
export interface Conversation {
  /** Where it was recorded. */
  readonly name: string;
  /** What was said before the first message, by whoever. */
  readonly before: readonly Content[];
  /** Each message of the user starts a run. */
  readonly messages: readonly Content[];
  /** What the tools gave, by the calls' names, in call order. */
  readonly results: ReadonlyMap<string, readonly Part[]>;
  readonly exchanges: readonly Recording[];
  /** The contents of each recorded request, in genai's spelling. */
  readonly requests: readonly (readonly Content[])[];
}

/** All conversations in which a recorded request holds something that a model said before. */
export function loadConversations(): readonly Conversation[] {
  const files = Map.groupBy(loadRecordings(), ({id}) => id.replace(/#\d+$/, ''));
  return [...files].map(([name, exchanges]) => conversationOf(name, exchanges)).filter(({requests}) => requests.some(hasModel));
}

/** Whether tools have a part in it. */
export function usesTools({requests}: Conversation): boolean {
  return requests.flat().some(({parts = []}) => parts.some((part) => part.functionCall ?? part.functionResponse));
}

function hasModel(contents: readonly Content[]): boolean {
  return contents.some(({role}) => role === 'model');
}

function conversationOf(name: string, exchanges: readonly Recording[]): Conversation {
  const requests = exchanges.map(({requestBody}) => contentsOf(requestBody));
  const [first = []] = requests;
  const messages = first.slice(-1);
  const results = new Map<string, Part[]>();
  for (let at = 1; at < requests.length; at++) {
    const said = requests[at]?.at(-1);
    const answers = (said?.parts ?? []).filter((part) => part.functionResponse);
    if (said && answers.length === 0) messages.push(said);
    for (const part of answers) {
      const {name: tool = ''} = part.functionResponse ?? {};
      results.set(tool, [...(results.get(tool) ?? []), part]);
    }
  }
  return {name, before: first.slice(0, -1), messages, results, exchanges, requests};
}

function contentsOf(body: unknown): Content[] {
  return (inOurSpelling((body as {contents?: unknown} | null)?.contents ?? []) as Content[]).map((content) => ({role: 'user', ...content}));
}

/** Some clients write protobuf's other spelling of the same message: keys with underscores, bytes in the URL's alphabet of base64. */
function inOurSpelling(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inOurSpelling);
  if (typeof value !== 'object' || value === null) return value;
  const entries = Object.entries(value).map(([key, item]): [string, unknown] => {
    const name = key.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
    if (name === 'thoughtSignature') return [name, String(item).replaceAll('-', '+').replaceAll('_', '/')];
    // What a call is given and what a tool gave are data, and no part of the message's own form.
    return [name, name === 'args' || name === 'response' ? item : inOurSpelling(item)];
  });
  return Object.fromEntries(entries);
}
