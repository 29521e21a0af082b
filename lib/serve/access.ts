/** Whose a request is, and what it asks for: what {@link Authorize} decides on. */
export interface AccessRequest {
  /** The route, such as `POST /run` or `GET /apps/:appName/users/:userId/sessions`. */
  readonly route: string;
  /** The app that is named, whether there is one of that name or not. */
  readonly appName?: string | undefined;
  readonly userId?: string | undefined;
  /** Not there where a session is created whose id, if any, stands in the body. */
  readonly sessionId?: string | undefined;
}

/**
 * Lets a request in, or not:
 * - `true` or `undefined`: it may.
 * - a {@link UserAccess}: it may, as this user and no other. A request that names another one is answered with 403, and one that names none
 *   is his.
 * - `false`: 403.
 * - a `Response`: that answer, such as a 401 with `WWW-Authenticate`.
 * - a throw: 401, and `onError` is told.
 *
 * It is asked once for each request, before its body is read; only `POST /run` and `POST /run_sse` say in their body whose they are.
 */
export type Authorize = (request: Request, access: AccessRequest) => AccessDecision | Promise<AccessDecision>;

/** What {@link Authorize} decides. */
export type AccessDecision = boolean | undefined | void | Response | UserAccess;

/** A request that is let in as one user's. */
export interface UserAccess {
  readonly userId: string;
  /**
   * Whether the request may write state that all users of the app share, those keys that begin with `app:`. Default `false`: such a write is
   * answered with 403, since what one user writes there stands in the instructions and tools of all. What agents and tools write is not asked.
   */
  readonly mayWriteAppState?: boolean | undefined;
}
