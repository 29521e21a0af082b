import type {Event} from '../../events/event.ts';
import type {InvocationContext} from '../base-agent.ts';
import {Standing} from './standing.ts';
import {isWholeEvent} from './whole-event.ts';

/**
 * Runs one agent of those that follow each other. Returns whether the next may go on: not where a call waits, nor where the last reply could
 * not be used, since what comes next would build on what is not there.
 *
 * @param ctx - the place of the agent that runs it
 * @param child - its own
 * @param pass - sees each whole Event and says what to make of it
 */
export async function* runChild(
  ctx: InvocationContext,
  child: InvocationContext,
  pass: (event: Event) => Event = (event) => event,
): AsyncGenerator<Event, boolean, undefined> {
  const {life} = ctx.run;
  const standing = new Standing(ctx);
  life.throwIfEnded();
  for await (const event of child.agent.runAsync(child)) {
    const isWhole = isWholeEvent(event);
    if (isWhole) standing.note(event);
    yield isWhole ? pass(event) : event;
  }
  life.throwIfEnded();
  for await (const event of standing.tell()) yield pass(event);
  return !standing.waits && !standing.failed;
}
