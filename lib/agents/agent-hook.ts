import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {isIdle} from '../events/event-actions.ts';
import type {Event} from '../events/event.ts';
import {agentEvent, type AgentSite} from './agent-event.ts';
import {callbackContext, firstResult} from './callbacks.ts';
import {checkContent} from './check-content.ts';
import type {Closing} from './open-work.ts';

/** Called around an agent. Content that it returns becomes an Event: before, instead of the agent; after, in addition. */
export type AgentCallback = (context: Context) => Content | undefined | void | Promise<Content | undefined | void>;

/** An agent's callbacks around its work. */
export interface AgentHooks {
  readonly beforeAgentCallback: readonly AgentCallback[];
  readonly afterAgentCallback: readonly AgentCallback[];
}

/** The Events of an agent's work and of the callbacks around it. Where it is cut off, those after it run while the run closes. */
export async function* betweenCallbacks(
  {beforeAgentCallback, afterAgentCallback}: AgentHooks,
  site: AgentSite,
  live: Closing,
  work: () => AsyncGenerator<Event, void, undefined>,
): AsyncGenerator<Event, void, undefined> {
  const {life, open} = site.run;
  life.throwIfEnded();
  const before = await callAgentHook('beforeAgentCallback', beforeAgentCallback, site, live);
  if (before) yield before;
  if (before?.content) return;

  const close = async (at: Closing): Promise<Event[]> => {
    const event = await callAgentHook('afterAgentCallback', afterAgentCallback, site, at);
    return event ? [event] : [];
  };
  const finished = afterAgentCallback.length > 0 ? open.add({close}) : undefined;
  life.throwIfEnded();
  let last: Event | undefined;
  for await (const event of work()) {
    if (!(event as Event | undefined)?.partial) last = event;
    yield event;
  }
  if (!finished) return;
  finished();
  for (const event of await close(live)) {
    // A run waits if its last Event says so.
    if (last?.longRunningToolIds) event.longRunningToolIds = [...last.longRunningToolIds];
    yield event;
  }
}

/** Calls the callbacks around an agent; the Event of what they said or wrote, if they did. */
async function callAgentHook(
  hook: 'beforeAgentCallback' | 'afterAgentCallback',
  callbacks: readonly AgentCallback[],
  site: AgentSite,
  {steps, life}: Closing,
): Promise<Event | undefined> {
  if (callbacks.length === 0) return undefined;
  const {content, actions} = await steps.step(`${hook} ${site.agentName}`, async () => {
    const {context, actions} = callbackContext(site.source, {life});
    const ask = async (callback: AgentCallback): Promise<Content | undefined> => {
      const said = (await callback(context)) ?? undefined;
      if (said !== undefined) checkContent(said, `the content of ${hook}`);
      return said;
    };
    const content = await firstResult(hook, site, callbacks, ask, context);
    context.revoke();
    return {content, actions};
  });
  if (!content && isIdle(actions)) return undefined;
  const event = await agentEvent(site, steps, {actions, ...(content && {content: {role: 'model', ...content}})});
  return site.run.open.complete(event);
}
