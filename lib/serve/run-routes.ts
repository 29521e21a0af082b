import {Timers} from '../async/timers.ts';
import {within} from '../async/within.ts';
import {StreamingMode, type RunConfig} from '../agents/run-config.ts';
import type {Content} from '../content.ts';
import type {Event} from '../events/event.ts';
import type {Run} from '../runner/run.ts';
import type {RunRequest} from '../runner/run-request.ts';
import {checkValues, isBoolean, isObject, optional} from '../schema/options.ts';
import {fieldsOf, toCamelCase} from './camel-case.ts';
import type {Exchange, SessionEntry} from './exchange.ts';
import {HttpProblem, json, refuseClosing} from './http-problem.ts';
import type {Route} from './router.ts';
import {requireSession} from './session-routes.ts';
import type {StreamFormat} from './stream/stream-format.ts';
import {startResponse} from './stream/to-response.ts';

const SESSION = '/apps/:appName/users/:userId/sessions/:sessionId';

/** Runs: started, read along, looked at and stopped. */
export const runRoutes: readonly Route[] = [
  {method: 'POST', path: '/run', answer: runToEnd},
  {method: 'POST', path: '/run_sse', answer: runStreamed},
  {method: 'GET', path: `${SESSION}/run_sse`, answer: attach},
  {method: 'GET', path: `${SESSION}/runs`, answer: listRuns},
  {method: 'POST', path: `${SESSION}/cancel`, answer: cancelRuns},
];

async function runToEnd(exchange: Exchange): Promise<Response> {
  const {request, host, service} = exchange;
  const {entry, run: asked} = await readRunRequest(exchange);
  const {signal} = request;
  const leaves = service.options.onDisconnect !== 'continue' && {abortSignal: signal};
  const run = entry.runner.runAsync({...asked, runConfig: {streamingMode: StreamingMode.NONE}, ...leaves});
  service.runs.add(entry.key, run, request);
  host.waitUntil?.(run.settled);
  const events: Event[] = [];
  try {
    for await (const event of run) events.push(event);
  } catch (error) {
    // Nobody reads what is said to a client that has left.
    if (leaves && signal.aborted && error === signal.reason) throw new HttpProblem(499, 'CLIENT_LEFT', 'The client has left');
    throw error;
  }
  return json(events);
}

async function runStreamed(exchange: Exchange): Promise<Response> {
  const {request, host, service} = exchange;
  const {onDisconnect, heartbeatMs} = service.options;
  const {entry, run: asked, runConfig} = await readRunRequest(exchange);
  const run = entry.runner.runAsync({...asked, runConfig});
  const format = formatOf(request);
  if (onDisconnect === 'continue') return streamFeed(exchange, entry, run);
  service.runs.add(entry.key, run, request);
  const onError = (error: unknown): void => service.report(error);
  return startResponse(run, {format, request, heartbeatMs, waitUntil: host.waitUntil, onError});
}

async function streamFeed({request, host, service}: Exchange, {key}: SessionEntry, run: Run): Promise<Response> {
  host.waitUntil?.(run.settled);
  const feed = await service.runs.startFeed(key, run);
  return feed.toResponse({format: formatOf(request), request, heartbeatMs: service.options.heartbeatMs});
}

async function attach(exchange: Exchange): Promise<Response> {
  const {request, service} = exchange;
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  // The first run of a session may be about to create it.
  if (service.runs.running(key).length === 0) await requireSession(runner.sessionService, key);
  const after = request.headers.get('last-event-id') ?? undefined;
  const options = {format: formatOf(request), after, request, heartbeatMs: service.options.heartbeatMs};
  const response = service.runs.attach(key, after, (feed) => feed.toResponse(options));
  if (!response) throw new HttpProblem(404, 'RUN_NOT_FOUND', 'No run of this session can be read along');
  return response;
}

async function listRuns(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  const runs = exchange.service.runs.running(key).map((invocationId) => ({invocationId}));
  if (runs.length === 0) await requireSession(runner.sessionService, key);
  return json({runs});
}

/** Longer than any run takes to end. On workerd, outside a Durable Object, a request cannot stop what another one started, nor see it end. */
const CANCEL_TIMEOUT_MS = 10_000;

async function cancelRuns(exchange: Exchange): Promise<Response> {
  const {runner, key} = await exchange.enterSession(exchange.parameters);
  const timers = new Timers();
  const cancelled = runner.cancel(key);
  const isOver = await within(cancelled, (callback) => timers.set(CANCEL_TIMEOUT_MS, callback));
  timers.clear();
  if (!isOver) throw new HttpProblem(504, 'CANCEL_TIMEOUT', `The runs did not end within ${CANCEL_TIMEOUT_MS} ms`);
  const count = await cancelled;
  if (count === 0) await requireSession(runner.sessionService, key);
  return json({cancelled: count});
}

interface AskedRun {
  readonly entry: SessionEntry;
  readonly run: Omit<RunRequest, 'runConfig' | 'abortSignal'>;
  /** What the request says of it; where it says nothing the runner's holds. */
  readonly runConfig: RunConfig;
}

async function readRunRequest(exchange: Exchange): Promise<AskedRun> {
  if (exchange.service.closing) refuseClosing();
  const body = await exchange.requireBody();
  const entry = await exchange.enterSession(fieldsOf(body, ['appName', 'userId', 'sessionId']));
  const {newMessage, streaming, stateDelta, customMetadata} = fieldsOf(body, ['newMessage', 'streaming', 'stateDelta', 'customMetadata']);
  const given = {newMessage, streaming, stateDelta, customMetadata};
  checkValues<typeof given>('body', given, {
    newMessage: {expected: 'a content, {role: "user", parts: [...]}', accepts: isObject.accepts},
    streaming: optional(isBoolean),
    stateDelta: optional(isObject),
    customMetadata: optional(isObject),
  });
  exchange.checkState('stateDelta', stateDelta);
  const {userId, sessionId} = entry.key;
  const run = {
    userId,
    sessionId,
    newMessage: toCamelCase(newMessage) as Content,
    stateDelta: stateDelta as Record<string, unknown> | undefined,
    customMetadata: customMetadata as Record<string, unknown> | undefined,
  };
  return {entry, run, runConfig: streaming === undefined ? {} : {streamingMode: streaming ? StreamingMode.SSE : StreamingMode.NONE}};
}

function formatOf({headers}: Request): StreamFormat {
  return headers.get('accept')?.includes('application/x-ndjson') ? 'ndjson' : 'sse';
}
