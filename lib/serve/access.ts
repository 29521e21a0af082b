/** Whose a request is, and what it asks for: what {@link Authorize} decides on. */
export interface AccessRequest {
  /** The route, such as `POST /run` or `GET /apps/:appName/users/:userId/sessions`. */
  readonly route: string;
  /** The app that is named, whether there is one of that name or not. */
  readonly appName?: string | undefined;
  readonly userId?: string | undefined;
  readonly sessionId?: string | undefined;
}

/**
 * Lets a request in, or not:
 * - `true` or `undefined`: it may.
 * - `{userId}`: it may, as this user and no other. A request that names another one is answered with 403, and one that names none is his.
 * - `false`: 403.
 * - a `Response`: that answer, such as a 401 with `WWW-Authenticate`.
 * - a throw: 401, and `onError` is told.
 */
export type Authorize = (request: Request, access: AccessRequest) => AccessDecision | Promise<AccessDecision>;

/** What {@link Authorize} decides. */
export type AccessDecision = boolean | undefined | void | Response | {readonly userId: string};
