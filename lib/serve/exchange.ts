import {describe} from '../errors.ts';
import type {Runner} from '../runner/runner.ts';
import {isObject} from '../schema/options.ts';
import type {SessionKey} from '../sessions/session.ts';
import {State} from '../sessions/state.ts';
import type {AccessDecision, AccessRequest, UserAccess} from './access.ts';
import type {Host} from './handler.ts';
import {HttpProblem} from './http-problem.ts';
import {readJson} from './request-json.ts';
import type {Service} from './service.ts';
import {isPathName} from './stream/path-name.ts';

/** Whose something is, as a request says it. */
export type Names = Readonly<Partial<Record<'appName' | 'userId' | 'sessionId', unknown>>>;

/** A request that was let in to an app. */
export interface Entry {
  readonly runner: Runner;
  readonly appName: string;
  readonly userId: string;
}

/** A request that was let in to a session, which may exist or not. */
export interface SessionEntry {
  readonly runner: Runner;
  readonly key: SessionKey;
}

/** What was asked for. */
export interface Asked {
  readonly request: Request;
  readonly url: URL;
  readonly host: Host;
  /** The route, such as `POST /run`. */
  readonly route: string;
  /** What stands in its path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

/** One request on its way. Only what is let in gets to a Runner. */
export class Exchange {
  readonly service: Service;
  readonly request: Request;
  readonly url: URL;
  readonly host: Host;
  readonly parameters: Readonly<Record<string, string>>;
  readonly #route: string;
  #mayWriteAppState = false;

  constructor(service: Service, {request, url, host, route, parameters}: Asked) {
    this.service = service;
    this.request = request;
    this.url = url;
    this.host = host;
    this.parameters = parameters;
    this.#route = route;
  }

  /** The body, a JSON object; `undefined` where there is none. @throws {@link HttpProblem} */
  readBody(): Promise<Record<string, unknown> | undefined> {
    return readJson(this.request, this.service.maxBodyBytes);
  }

  /** @throws {@link HttpProblem} 422 where there is no body, and as {@link readBody} */
  async requireBody(): Promise<Record<string, unknown>> {
    const body = await this.readBody();
    if (!body) throw new HttpProblem(422, 'INVALID_BODY', 'Expected a body that is a JSON object, got none');
    return body;
  }

  /** @throws {@link HttpProblem} where the request is not let in, or the app is unknown; {@link Answer} where `authorize` gives one */
  async enter(names: Names): Promise<Entry> {
    const {appName, userId} = await this.admit(names);
    const known = {appName: this.#require('appName', appName), userId: this.#require('userId', userId)};
    const runner = this.service.runners.get(known.appName);
    if (!runner) throw new HttpProblem(404, 'APP_NOT_FOUND', `There is no app ${JSON.stringify(known.appName)}`);
    return {runner, ...known};
  }

  /** As {@link enter}. */
  async enterSession(names: Names): Promise<SessionEntry> {
    const {runner, ...user} = await this.enter(names);
    return {runner, key: {...user, sessionId: this.#require('sessionId', names.sessionId)}};
  }

  /** Asks whether the request may be answered. What comes back is whose it is. @throws as {@link enter} */
  async admit(names: Names = {}): Promise<Names> {
    const access: AccessRequest = {
      route: this.#route,
      appName: this.name('appName', names.appName),
      userId: this.name('userId', names.userId),
      sessionId: this.name('sessionId', names.sessionId),
    };
    const decision = await this.#decide(access);
    if (decision instanceof Response) throw new Answer(decision);
    if (decision === true || decision === undefined) {
      this.#mayWriteAppState = true;
      return names;
    }
    const {userId, mayWriteAppState} = isObject.accepts(decision) ? (decision as UserAccess) : {};
    if (!isPathName.accepts(userId) || (access.userId !== undefined && access.userId !== userId)) {
      throw new HttpProblem(403, 'FORBIDDEN', 'The request is not allowed');
    }
    this.#mayWriteAppState = mayWriteAppState === true;
    return {...names, userId};
  }

  /** The name of something, as a request says it; `undefined` where it says none. @throws {@link HttpProblem} for one that routes cannot have */
  name(field: string, value: unknown): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (isPathName.accepts(value)) return value as string;
    throw this.#refusal(field, value);
  }

  /**
   * Checks state that a request writes, or the delta of it.
   *
   * @param field - where it stands in the body
   * @throws {@link HttpProblem} 403 where it is shared by all users, and `authorize` has let in only this one
   */
  checkState(field: string, state: unknown): void {
    if (this.#mayWriteAppState || !isObject.accepts(state)) return;
    const key = Object.keys(state as object).find((it) => it.startsWith(State.APP_PREFIX));
    if (key === undefined) return;
    const detail = `The request may not write state that all users share: ${JSON.stringify(key.slice(0, 80))}`;
    throw new HttpProblem(403, 'APP_STATE_FORBIDDEN', detail, {field});
  }

  async #decide(access: AccessRequest): Promise<AccessDecision> {
    const {authorize} = this.service.options;
    try {
      return authorize ? await authorize(this.request, access) : true;
    } catch (error) {
      this.service.report(error);
      throw new HttpProblem(401, 'UNAUTHORIZED', 'The request was not authorized');
    }
  }

  #require(field: string, value: unknown): string {
    const name = this.name(field, value);
    if (name === undefined) throw this.#refusal(field, value);
    return name;
  }

  #refusal(field: string, value: unknown): HttpProblem {
    const detail = `Expected \`${field}\` to be ${isPathName.expected}, got ${describe(value)}`;
    return new HttpProblem(Object.hasOwn(this.parameters, field) ? 400 : 422, 'INVALID_FIELD', detail, {field});
  }
}

/** Thrown instead of a problem: `authorize` has answered the request itself. */
export class Answer extends Error {
  readonly response: Response;

  constructor(given: Response) {
    super('The request was answered');
    // One that came from `fetch` has headers that nobody can add to.
    this.response = new Response(given.body, given);
  }
}
