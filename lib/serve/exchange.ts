import {describe} from '../errors.ts';
import type {Runner} from '../runner/runner.ts';
import {isName, isObject} from '../schema/options.ts';
import type {SessionKey} from '../sessions/session.ts';
import type {AccessRequest} from './access.ts';
import type {Host} from './handler.ts';
import {HttpProblem} from './http-problem.ts';
import {readJson} from './request-json.ts';
import type {Service} from './service.ts';

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
      appName: this.#name('appName', names.appName),
      userId: this.#name('userId', names.userId),
      sessionId: this.#name('sessionId', names.sessionId),
    };
    const {authorize} = this.service.options;
    if (!authorize) return names;
    let decision;
    try {
      decision = await authorize(this.request, access);
    } catch (error) {
      this.service.report(error);
      throw new HttpProblem(401, 'UNAUTHORIZED', 'The request was not authorized');
    }
    if (decision instanceof Response) throw new Answer(decision);
    if (decision === true || decision === undefined) return names;
    const userId = isObject.accepts(decision) ? (decision as {readonly userId?: unknown}).userId : undefined;
    if (!isName.accepts(userId) || (access.userId !== undefined && access.userId !== userId)) {
      throw new HttpProblem(403, 'FORBIDDEN', 'The request is not allowed');
    }
    return {...names, userId};
  }

  #name(field: string, value: unknown): string | undefined {
    if (value === undefined || value === null) return undefined;
    if (typeof value === 'string' && value !== '' && value.length <= MAX_NAME && value.isWellFormed() && !CONTROL.test(value)) return value;
    throw this.#refusal(field, value);
  }

  #require(field: string, value: unknown): string {
    const name = this.#name(field, value);
    if (name === undefined) throw this.#refusal(field, value);
    return name;
  }

  #refusal(field: string, value: unknown): HttpProblem {
    const detail = `Expected \`${field}\` to be a string of 1 to ${MAX_NAME} characters without control characters, got ${describe(value)}`;
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

const MAX_NAME = 1_024;
// oxlint-disable-next-line no-control-regex -- they are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;
