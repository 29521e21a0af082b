import type {Content} from '@google/genai';
import type {Script} from './script.ts';

/** What a model yields: pieces with `partial`, then the whole. */
export interface Reply {
  readonly content: Content;
  readonly partial?: true;
  readonly finishReason?: string;
}

const scripts = new Map<string, Script>();

/** Gives the conversation that this text begins its script. */
export function play(opening: string, script: Script): void {
  scripts.set(opening, script);
}

/** The model of every subject: it finds its script by the text that began the conversation, so that one agent serves many runs at once. */
export async function* scriptedReply(contents: readonly Content[], stream: boolean): AsyncGenerator<Reply, void, undefined> {
  const opening = contents[0]?.parts?.[0]?.text ?? '';
  const script = scripts.get(opening);
  if (!script) throw new Error(`no script for a conversation that begins with ${JSON.stringify(opening)}`);
  const {calls, text, pieces} = await script.take(contents);
  if (stream) for await (const piece of pieces) yield {content: {role: 'model', parts: [{text: piece}]}, partial: true};
  const asked = calls.map((functionCall) => ({functionCall}));
  yield {content: {role: 'model', parts: text ? [{text}, ...asked] : asked}, finishReason: 'STOP'};
}

/** Forgets a script. */
export function drop(opening: string): void {
  scripts.delete(opening);
}
