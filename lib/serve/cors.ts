import {HttpProblem} from './http-problem.ts';

/**
 * Which pages may use a handler. A browser enforces this for what a page reads; what a page sends, and WebSockets, are refused here, so
 * that no other site acts in the name of who looks at it.
 */
export class Cors {
  readonly #origins: '*' | readonly string[];

  constructor(origins: '*' | readonly string[] = []) {
    this.#origins = origins;
  }

  /**
   * Answers a preflight; `undefined` for any other request.
   *
   * @throws {@link HttpProblem} 403 for a request that a page of a foreign origin makes and that is more than reading
   */
  admit(request: Request, url: URL): Response | undefined {
    const {method, headers} = request;
    const origin = headers.get('origin');
    if (origin === null) return undefined;
    const isReading = ((method === 'GET' || method === 'HEAD') && headers.get('upgrade') === null) || method === 'OPTIONS';
    if (!isReading && !this.#allows(origin) && !isOwn(origin, url)) {
      throw new HttpProblem(403, 'ORIGIN_NOT_ALLOWED', 'Pages of this origin may not use this server');
    }
    const asked = headers.get('access-control-request-method');
    if (method !== 'OPTIONS' || asked === null || !this.#allows(origin)) return undefined;
    const allowed = headers.get('access-control-request-headers') ?? '';
    return new Response(null, {
      status: 204,
      headers: {
        'access-control-allow-methods': 'GET, POST, PATCH, DELETE',
        'access-control-allow-headers': allowed,
        'access-control-max-age': '600',
      },
    });
  }

  /** Adds what the browser asks for before it lets a page of another origin read the response. */
  permit(request: Request, response: Response): Response {
    const origin = request.headers.get('origin');
    if (this.#origins.length === 0 || response.status === 101) return response;
    response.headers.append('vary', 'Origin');
    if (origin === null || !this.#allows(origin)) return response;
    response.headers.set('access-control-allow-origin', this.#origins === '*' ? '*' : origin);
    response.headers.set('access-control-expose-headers', 'Retry-After');
    if (this.#origins !== '*') response.headers.set('access-control-allow-credentials', 'true');
    return response;
  }

  #allows(origin: string): boolean {
    return this.#origins === '*' || this.#origins.includes(origin);
  }
}

/** Whether the page comes from where the request goes. A proxy that ends TLS changes the scheme. */
function isOwn(origin: string, {host}: URL): boolean {
  return URL.canParse(origin) && new URL(origin).host === host;
}
