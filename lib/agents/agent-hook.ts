import type {Content} from '../content.ts';
import type {Context, ContextSource} from '../context/context.ts';
import {isIdle} from '../events/event-actions.ts';
import {createEvent, type Event} from '../events/event.ts';
import {callbackContext, firstResult} from './callbacks.ts';
import type {Closing} from './open-work.ts';
import type {RunScope} from './run-scope.ts';

/** Called around an agent. Content that it returns becomes an Event: before, instead of the agent; after, in addition. */
export type AgentCallback = (context: Context) => Content | undefined | void | Promise<Content | undefined | void>;

/** Where an agent's hooks are called. */
export interface AgentHookSite {
  readonly run: RunScope;
  readonly source: ContextSource;
  readonly agentName: string;
}

/** Calls the callbacks around an agent; the Event of what they said or wrote, if they did. */
export async function callAgentHook(
  hook: 'beforeAgentCallback' | 'afterAgentCallback',
  callbacks: readonly AgentCallback[],
  site: AgentHookSite,
  {steps, life}: Closing,
): Promise<Event | undefined> {
  if (callbacks.length === 0) return undefined;
  const {invocationId, branch} = site.source;
  const {content, actions} = await steps.step(`${hook} ${site.agentName}`, async () => {
    const {context, actions} = callbackContext(site.source, {life});
    const content = await firstResult(hook, site, callbacks, (callback) => callback(context), context);
    context.revoke();
    return {content, actions};
  });
  if (!content && isIdle(actions)) return undefined;
  const event = createEvent({
    id: await steps.uuid(),
    timestamp: await steps.now(),
    invocationId,
    author: site.agentName,
    actions,
    ...(content && {content: {role: 'model', ...content}}),
    ...(branch !== undefined && {branch}),
  });
  return site.run.open.complete(event);
}
