/** What is said in a session, by whom, whether in Events or in recorded messages. */
import type {Event, Part} from 'sluice';
import {expectedOutcome} from '../gemini/live/live-recordings.ts';
import {piecesOfFrame, recordedCall} from './recording-pieces.ts';
import type {RecordedSession} from './recording-sessions.ts';

/** What a session's Events hold, by who said it; what was said aloud only where it was written down to its end. */
export function contentsOf(events: readonly Event[]): unknown {
  const partsOf = (who: string): Part[] => events.flatMap(({author, content}) => (author === who ? (content?.parts ?? []) : []));
  const written = (name: 'inputTranscription' | 'outputTranscription'): string =>
    events.map((event) => (event[name]?.finished ? event[name].text : '')).join('');
  return {
    user: partsOf('user'),
    model: joined(partsOf('root').filter(({functionResponse}) => !functionResponse)),
    responses: partsOf('root').flatMap(({functionResponse}) => functionResponse?.response ?? []),
    heard: written('inputTranscription'),
    spoken: written('outputTranscription'),
    usage: events.findLast(({usageMetadata}) => usageMetadata)?.usageMetadata ?? null,
  };
}

/** The same of what was recorded. A call that the recorded client did not answer any more was under way when the run was left. */
export function contentsOfRecording(session: RecordedSession): unknown {
  const {expect: wanted, client, server} = session;
  const turns = client.flatMap(({clientContent}) => clientContent?.turns ?? []);
  const typed = client.flatMap(({realtimeInput}) => (realtimeInput?.text === undefined ? [] : [{text: realtimeInput.text}]));
  const told = turns.flatMap(({role, parts = []}) => (role === 'model' ? parts : []));
  const said = server.flatMap(piecesOfFrame).flatMap((piece): Part[] => {
    if ('calls' in piece) return piece.calls.map(({id, name, args}) => ({functionCall: {id: id ?? '', name, args: args as {}}}));
    return 'part' in piece && !piece.part.inlineData ? [piece.part] : [];
  });
  const answers = client.flatMap(({toolResponse}) => toolResponse?.functionResponses ?? []);
  const cancelled = {error: 'cancelled; it may have taken effect', started: true};
  return {
    user: [...turns.flatMap(({role = 'user', parts = []}) => (role === 'user' ? parts : [])), ...typed],
    model: joined([...told, ...said]),
    responses: wanted.calls.map((_, at) => answers[at]?.response ?? cancelled),
    heard: wanted.inTr,
    spoken: wanted.outTr,
    usage: expectedOutcome(session).usage,
  };
}

/** Parts with their texts joined, and calls by the ids that the server gave. */
function joined(parts: readonly Part[]): unknown[] {
  const list: Part[] = [];
  for (const part of parts) {
    const last = list.at(-1);
    if (last?.text !== undefined && part.text !== undefined && last.thought === part.thought) last.text += part.text;
    else list.push({...part});
  }
  return list.map((part) => (part.functionCall ? recordedCall(part.functionCall) : part));
}

/** What Events say in words, joined: written, thought, heard and spoken. */
export function said(events: readonly Event[]): readonly string[] {
  const parts = events.flatMap(({content}) => content?.parts ?? []);
  const written = (name: 'inputTranscription' | 'outputTranscription'): string => events.map((event) => event[name]?.text ?? '').join('');
  return [textOf(parts, false), textOf(parts, true), written('inputTranscription'), written('outputTranscription')];
}

function textOf(parts: readonly Part[], thought: boolean): string {
  return parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
}
