import {artifactRoutes} from './artifact-routes.ts';
import {Answer, Exchange} from './exchange.ts';
import {checkHandlerOptions, type HandlerOptions} from './handler-options.ts';
import type {Handler, Host} from './handler.ts';
import {HttpProblem, json, refuseClosing, toProblem} from './http-problem.ts';
import {liveRoutes} from './live-routes.ts';
import {findRoute, type Route} from './router.ts';
import {runRoutes} from './run-routes.ts';
import {Service} from './service.ts';
import {sessionRoutes} from './session-routes.ts';

/**
 * Makes a handler that answers the requests of ADK's clients and of its web UI, on any host with web standards.
 *
 * | route | |
 * | --- | --- |
 * | `GET /health` | `{status: 'ok'}`, or 503 while it closes |
 * | `GET /list-apps` | the names of the apps |
 * | `/apps/{app}/users/{user}/sessions[/{id}]` | GET, POST, DELETE, and PATCH with `{stateDelta}` |
 * | `.../sessions/{id}/artifacts[/{name}[/versions[/{version}]]]` | GET, POST, DELETE, with an `artifactService` |
 * | `POST /run` | all Events, once the run has ended |
 * | `POST /run_sse` | Events as they come: SSE, or newline JSON for who accepts `application/x-ndjson` |
 * | `GET /run_live` | a live run over a WebSocket |
 * | `POST .../sessions/{id}/cancel` | stops the runs of the session: `{cancelled: 1}` |
 * | `GET .../sessions/{id}/runs` | the ids of its runs that are under way: `{runs: [{invocationId}]}` |
 * | `GET .../sessions/{id}/run_sse` | with `onDisconnect: 'continue'`: reads a run along, after `Last-Event-ID` |
 *
 * HEAD is answered as GET, without a body. Bodies have keys in camelCase or snake_case, and hold at most 250,000 values, nested 400 levels
 * deep. What is refused is told as `application/problem+json`; of a failure inside, a client learns nothing but its kind. A failure after a
 * stream has begun is its last message.
 *
 * @throws {@link InvalidOptionError} for an unknown option, and for a value or a combination that cannot be used
 * @example
 * ```ts
 * import {LlmAgent} from 'sluice';
 * import {createHandler} from 'sluice/serve';
 *
 * const weather = new LlmAgent({name: 'weather', model: 'gemini-2.5-flash', instruction: 'Answer briefly.'});
 * const users = new Map([['secret-of-ada', 'ada']]);
 * const handler = createHandler({
 *   agents: {weather},
 *   authorize: ({headers}) => {
 *     const userId = users.get(headers.get('authorization')?.replace('Bearer ', '') ?? '');
 *     return userId === undefined ? new Response(null, {status: 401, headers: {'www-authenticate': 'Bearer'}}) : {userId};
 *   },
 * });
 * const response = await handler(new Request('http://localhost/list-apps', {headers: {authorization: 'Bearer secret-of-ada'}}));
 * console.log(await response.json());
 * await handler.close();
 * ```
 */
export function createHandler(options: HandlerOptions): Handler {
  checkHandlerOptions(options);
  const service = new Service(options);
  const close: Handler['close'] = ({timeoutMs} = {}) => service.close(timeoutMs);
  return Object.assign((request: Request, host: Host = {}) => answer(service, request, host), {
    close,
    [Symbol.asyncDispose]: () => close(),
  });
}

async function answer(service: Service, request: Request, host: Host): Promise<Response> {
  const isUpgrade = request.headers.has('upgrade');
  const whole = await respond(service, request, host).catch((error: unknown) => {
    if (error instanceof Answer) return error.response;
    service.report(error);
    return toProblem(error).toResponse();
  });
  const response = request.method === 'HEAD' ? await withoutBody(whole) : whole;
  return isUpgrade ? response : service.cors.permit(request, response);
}

async function withoutBody(response: Response): Promise<Response> {
  await response.body?.cancel().catch(() => {});
  return new Response(null, response);
}

async function respond(service: Service, request: Request, host: Host): Promise<Response> {
  const url = new URL(request.url);
  const preflight = service.cors.admit(request, url);
  if (preflight) return preflight;
  const {basePath = ''} = service.options;
  const {pathname} = url;
  if (!pathname.startsWith(`${basePath}/`)) throw new HttpProblem(404, 'ROUTE_NOT_FOUND', 'There is nothing at this path');
  const {route, parameters} = findRoute(ROUTES, request.method, pathname.slice(basePath.length));
  return route.answer(new Exchange(service, {request, url, host, route: `${route.method} ${route.path}`, parameters}));
}

const ROUTES: readonly Route[] = [
  {
    method: 'GET',
    path: '/health',
    answer: async ({service}) => (service.closing ? refuseClosing() : json({status: 'ok'})),
  },
  {
    method: 'GET',
    path: '/list-apps',
    answer: async (exchange) => {
      await exchange.admit();
      return json([...exchange.service.runners.keys()]);
    },
  },
  ...sessionRoutes,
  ...artifactRoutes,
  ...runRoutes,
  ...liveRoutes,
];
