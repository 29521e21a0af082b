import {deepEqual} from 'node:assert/strict';
import {resultsIn, Script, type Turn} from './script.ts';
import {drop, play} from './scripted-model.ts';
import type {Conversation, Subject} from './subjects/subject.ts';

export interface Expected {
  /** How many calls the model must have had. */
  readonly requests: number;
  /** The last text that was yielded. */
  readonly text: string;
  /** The results of all calls, in the order in which the last request must carry them; not looked at where it is missing. */
  readonly results?: readonly string[];
}

let serial = 0;

/** One run in a conversation of its own, checked: nothing that is broken is ever quick. */
export async function converse(subject: Subject, turns: (index: number) => Turn, {requests, text, results}: Expected): Promise<void> {
  const {script, opening} = openScript(turns, (index, contents) => {
    if (results && index === requests - 1) deepEqual(resultsIn(contents), results);
  });
  const conversation = await subject.open();
  deepEqual([await lastText(conversation, opening), script.requests], [text, requests]);
  drop(opening);
  await conversation.close();
}

/** Gives a conversation that has not begun its script, under a text that no other begins with. */
export function openScript(
  turns: (index: number) => Turn,
  check?: ConstructorParameters<typeof Script>[1],
): {script: Script; opening: string} {
  const opening = `conversation ${serial++}`;
  const script = new Script(turns, check);
  play(opening, script);
  return {script, opening};
}

/** Reads one run to its end. */
export async function lastText(conversation: Conversation, text: string): Promise<string> {
  let last = '';
  for await (const {content} of conversation.say(text)) last = content?.parts?.[0]?.text ?? last;
  return last;
}
