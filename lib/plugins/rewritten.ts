import {CANCELLED} from '../agents/llm/tool-batch.ts';
import {checkUserParts} from '../agents/user-parts.ts';
import type {Content, FunctionResponsePart} from '../content.ts';
import {expectOption} from '../errors.ts';
import {createEventActions} from '../events/event-actions.ts';
import type {Event} from '../events/event.ts';
import {checkEvent} from '../runner/run-events.ts';

/** @throws {@link InvalidOptionError} for what cannot stand in for a user's message */
export function checkMessage(given: Content, said: Content, by: string): void {
  const parts: unknown = said?.parts;
  expectOption(Array.isArray(parts), `the message of ${by}`, 'a content, {role: "user", parts: [...]}', said);
  checkUserParts(parts, `the parts of the message of ${by}`);
  checkCalls(given, said, `the message of ${by}`);
}

/** @throws {@link InvalidOptionError} for what cannot stand in for an Event */
export function checkRewritten(given: Event, event: Event, by: string): void {
  checkEvent(event, given.invocationId, by);
  expectOption(!event.partial, `partial of the event of ${by}`, 'left out: whole Events are stored', event.partial);
  expectOption(event.author === given.author, `author of the event of ${by}`, JSON.stringify(given.author), event.author);
  checkCalls(given.content, event.content, `the event of ${by}`);
}

/** What was called or answered stays: a session that lost one half of it could not be sent to a model any more. */
function checkCalls(given: Content | undefined, content: Content | undefined, what: string): void {
  const [before, after] = [callsIn(given), callsIn(content)];
  expectOption(before === after, what, `one with the same function calls and responses (${before || 'none'})`, after || 'none');
}

function callsIn(content: Content | undefined): string {
  return (content?.parts ?? [])
    .flatMap(({functionCall: call, functionResponse: response}) => [
      ...(call ? [`call ${call.name} ${call.id}`] : []),
      ...(response ? [`response ${response.name} ${response.id}`] : []),
    ])
    .join(', ');
}

/**
 * What is stored of an Event that could not be reviewed while its run was closing: that its calls are answered, and nothing that a review
 * might have taken out. Nothing where there are no answers in it.
 */
export function withheld({id, invocationId, author, timestamp, branch, longRunningToolIds, content}: Event): Event | undefined {
  const parts = (content?.parts ?? []).flatMap(({functionResponse: answer}): FunctionResponsePart[] => {
    if (!answer) return [];
    const waits = answer.id !== undefined && longRunningToolIds?.includes(answer.id);
    const {response: _response, parts: _media, ...ids} = answer;
    return [{functionResponse: {...ids, response: waits ? {status: 'pending'} : {...CANCELLED}}}];
  });
  if (parts.length === 0) return undefined;
  return {
    id,
    invocationId,
    author,
    timestamp,
    actions: createEventActions(),
    content: {role: 'user', parts},
    ...(branch !== undefined && {branch}),
    ...(longRunningToolIds && {longRunningToolIds}),
  };
}
