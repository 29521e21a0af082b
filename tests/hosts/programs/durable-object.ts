// The handler in a Durable Object: all requests for it share one place, so that one can stop what another has started.
import {handlerFor} from './agent.ts';

interface Environment {
  readonly GEMINI: string;
  readonly HEARTBEAT_MS: number;
  readonly AGENTS: {idFromName(name: string): unknown; get(id: unknown): {fetch(request: Request): Promise<Response>}};
}

/** One for each user, say. It lives while runs go on, without a `waitUntil`. */
export class Agents {
  readonly #handler: ReturnType<typeof handlerFor>;

  constructor(_state: unknown, {GEMINI, HEARTBEAT_MS}: Environment) {
    this.#handler = handlerFor(GEMINI, HEARTBEAT_MS);
  }

  fetch(request: Request): Promise<Response> {
    return this.#handler(request);
  }
}

const worker = {
  fetch: (request: Request, {AGENTS}: Environment): Promise<Response> => AGENTS.get(AGENTS.idFromName('u')).fetch(request),
};

// oxlint-disable-next-line import/no-default-export -- what workerd asks a worker for.
export default worker;
