import type {Exchange} from './exchange.ts';
import {HttpProblem} from './http-problem.ts';

/** One thing that can be asked for. */
export interface Route {
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  /** Segments; `:name` takes one, and `*name` at the end takes one or more. */
  readonly path: string;
  readonly answer: (exchange: Exchange) => Promise<Response>;
}

/** What a request asks for. */
export interface Match {
  readonly route: Route;
  /** What stands in its path, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
}

/**
 * Finds the route of a request; that of HEAD is that of GET. A path is taken apart before it is decoded: a name may hold an encoded slash.
 *
 * @param path - as it stands in the URL, without the base path
 * @throws {@link HttpProblem} 400 for a path that cannot be decoded, 404 and 405
 */
export function findRoute(routes: readonly Route[], method: string, path: string): Match {
  const segments = path.split('/').map(decode);
  const matches = routes.flatMap((route) => {
    const parameters = parametersOf(route.path.split('/'), segments);
    return parameters ? [{route, parameters}] : [];
  });
  const match = matches.find(({route}) => route.method === (method === 'HEAD' ? 'GET' : method));
  if (match) return match;
  if (matches.length === 0) throw new HttpProblem(404, 'ROUTE_NOT_FOUND', 'There is nothing at this path');
  const methods = matches.flatMap(({route}) => (route.method === 'GET' ? ['GET', 'HEAD'] : route.method));
  const allow = [...new Set(methods)].join(', ');
  throw new HttpProblem(405, 'METHOD_NOT_ALLOWED', `Expected the method to be ${allow}`, {headers: {allow}});
}

function parametersOf(pattern: readonly string[], segments: readonly string[]): Record<string, string> | undefined {
  const parameters: Record<string, string> = {};
  for (const [index, expected] of pattern.entries()) {
    const segment = segments[index];
    if (segment === undefined || (segment === '' && index > 0)) return undefined;
    if (expected.startsWith('*')) {
      const rest = segments.slice(index);
      if (rest.includes('')) return undefined;
      parameters[expected.slice(1)] = rest.join('/');
      return parameters;
    }
    if (expected.startsWith(':')) parameters[expected.slice(1)] = segment;
    else if (expected !== segment) return undefined;
  }
  return segments.length === pattern.length ? parameters : undefined;
}

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    throw new HttpProblem(400, 'MALFORMED_PATH', 'Expected the path to be percent-encoded UTF-8');
  }
}
