import {InvocationContext} from '../agents/base-agent.ts';
import type {RunScope} from '../agents/run-scope.ts';
import {getFunctionResponses, type Event} from '../events/event.ts';
import type {LiveRunRequest} from '../runner/live-run-request.ts';
import {openSession} from '../runner/open-session.ts';
import {checkEvent} from '../runner/run-events.ts';
import type {RunLife} from '../runner/run-life.ts';
import {agentToAnswer, pluginHooks, type RunHost} from '../runner/run-setup.ts';
import type {SessionWriter} from '../runner/session-writer.ts';
import {StoredEvents} from '../runner/stored-events.ts';
import {inProcessSteps} from '../steps/in-process-steps.ts';

/**
 * One live run. What the agent stores ahead of the reader is passed on as it is; other whole Events are stored when they are read. Its
 * steps are never replayed: a conversation that goes on while it is held cannot be.
 */
export function liveEvents(host: RunHost, invocationId: string, request: LiveRunRequest, life: RunLife): StoredEvents {
  const {appName, agent: root, sessionService, services, autoCreateSession: create} = host;
  const stored = new WeakSet<Event>();
  let writer: SessionWriter;
  const waiting = new Set<string>();
  const store = async (given: Event): Promise<Event> => {
    const leave = life.shared.open.enter({name: 'session service'});
    let event: Event;
    try {
      event = await writer.append(checkEvent(given, invocationId, root.name), inProcessSteps);
    } finally {
      leave();
    }
    life.stored(event);
    noteWaiting(event, waiting);
    // What is said after a call that waits does not answer it.
    life.use(writer, waiting.size > 0);
    stored.add(event);
    return event;
  };
  return new StoredEvents({
    open: async () => {
      life.begin();
      writer = await openSession({service: sessionService, appName, request, create, steps: inProcessSteps, life});
      life.life.throwIfEnded();
      life.use(writer);
      const {liveRequestQueue: queue, liveSessionResumptionHandle: resumptionHandle} = request;
      const plugins = await pluginHooks(host);
      const live = {queue, resumptionHandle, store};
      const scope: RunScope = {
        ...life.shared,
        invocationId,
        steps: inProcessSteps,
        session: writer.session,
        sessionService,
        userContent: undefined,
        plugins,
        services,
        live,
      };
      const agent = await agentToAnswer(root, writer.session.events);
      const ctx = new InvocationContext(scope, agent);
      if (!plugins) return agent.runLive(ctx);
      writer.review = (event, steps) => plugins.review(ctx, event, steps);
      return plugins.aroundRun(ctx, () => agent.runLive(ctx));
    },
    throwIfEnded: () => life.life.throwIfEnded(),
    accepts: (event) => stored.has(event) || life.accepts(event),
    store: (event) => (stored.has(event) ? Promise.resolve(event) : store(event)),
  });
}

/** Keeps the calls whose answer comes later: from the response that says so to the one that answers. */
function noteWaiting(event: Event, waiting: Set<string>): void {
  for (const {id = ''} of getFunctionResponses(event)) {
    if (event.longRunningToolIds?.includes(id)) waiting.add(id);
    else waiting.delete(id);
  }
}
