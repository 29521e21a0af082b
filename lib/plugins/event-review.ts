import {InvocationContext} from '../agents/base-agent.ts';
import {within} from '../async/within.ts';
import {messageOf} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {copyJson} from '../schema/json-copy.ts';
import type {Steps} from '../steps/steps.ts';
import type {PluginCalls} from './plugin-calls.ts';
import {checkRewritten, withheld} from './rewritten.ts';

const HOOK = 'onEventCallback';

/** Shows the plugins each whole Event before it is stored. */
export class EventReview {
  readonly #calls: PluginCalls;

  constructor(calls: PluginCalls) {
    this.#calls = calls;
  }

  /** What is stored of an Event. */
  async review(ctx: InvocationContext, event: Event, steps: Steps): Promise<Event> {
    if (!this.#calls.has(HOOK)) return event;
    return ctx.run.life.ended ? this.#askInTime(ctx, event, steps) : this.#ask(ctx, event, steps);
  }

  #ask(invocationContext: InvocationContext, event: Event, steps: Steps): Promise<Event> {
    return steps.step(`${HOOK} ${event.id}`, async () => {
      const shown = copyJson(event);
      const given = await this.#calls.first(invocationContext, HOOK, async (plugin) => {
        const answer = await plugin.onEventCallback?.({invocationContext, event: shown});
        checkRewritten(event, answer ?? shown, plugin.name);
        return answer;
      });
      return {...(given ?? shown), id: event.id, invocationId: event.invocationId};
    });
  }

  /** The Events of a stop must be stored in time, whatever the plugins do; what nobody could review is not kept. */
  async #askInTime({run, agent, branch}: InvocationContext, event: Event, steps: Steps): Promise<Event> {
    const {timers, config, diagnose} = run;
    let reviewed: Event | undefined;
    let cause: unknown = new DOMException(`\`${HOOK}\` ignored the stop`, 'TimeoutError');
    if (!this.#calls.deaf.has(HOOK)) {
      // A place of its own: the agents may have lost theirs by now.
      const asked = this.#ask(new InvocationContext(run, agent, branch), event, steps).then(
        (it) => (reviewed = it),
        (error: unknown) => (cause = error),
      );
      if (!(await within(asked, (callback) => timers.set(config.abortGraceMs, callback)))) this.#calls.deaf.add(HOOK);
    }
    if (reviewed) return reviewed;
    const kept = withheld(event);
    if (!kept) throw cause;
    const message = `While closing, responses of ${event.author} were stored without what they say: ${messageOf(cause)}`;
    diagnose({code: 'CLOSE_FAILED', name: HOOK, cause, message});
    return kept;
  }
}
