import {LiveRequestQueue} from '../agents/live-request-queue.ts';
import type {RunConfig} from '../agents/run-config.ts';
import type {Run} from '../runner/run.ts';
import type {Exchange} from './exchange.ts';
import type {ServerSocket} from './handler.ts';
import {HttpProblem, refuseClosing} from './http-problem.ts';
import {LiveMessageError, passOn} from './live-message.ts';
import {LiveSocket} from './live-socket.ts';
import type {Route} from './router.ts';
import type {Service} from './service.ts';
import {requireSession} from './session-routes.ts';
import {clientError, failureJson} from './stream/client-error.ts';
import {builtInUpgrade} from './upgrade.ts';

/** Live runs. What is refused before there is a WebSocket is told as any other problem. */
export const liveRoutes: readonly Route[] = [{method: 'GET', path: '/run_live', answer: runLive}];

async function runLive(exchange: Exchange): Promise<Response> {
  const {request, host, service, url} = exchange;
  if (request.method !== 'GET' || request.headers.get('upgrade')?.toLowerCase() !== 'websocket') {
    throw new HttpProblem(426, 'UPGRADE_REQUIRED', 'Expected a WebSocket handshake', {
      headers: {upgrade: 'websocket', connection: 'Upgrade'},
    });
  }
  if (service.closing) refuseClosing();
  const query = new LiveQuery(url.searchParams);
  const {runner, key} = await exchange.enterSession({
    appName: query.one('app_name', 'appName'),
    userId: query.one('user_id', 'userId'),
    sessionId: query.one('session_id', 'sessionId'),
  });
  const runConfig = query.runConfig();
  await requireSession(runner.sessionService, key);
  const upgrade = host.upgradeWebSocket ?? builtInUpgrade();
  if (!upgrade) throw new HttpProblem(501, 'NO_WEBSOCKETS', 'This server has no WebSockets');
  const {userId, sessionId} = key;
  const {socket, response} = upgrade(request);
  const run = talk(socket, service, (liveRequestQueue) => runner.runLive({userId, sessionId, liveRequestQueue, runConfig}));
  service.runs.add(key, run, request);
  host.waitUntil?.(run.settled);
  return response;
}

/** Joins a client and a run until one of them ends. */
function talk(socket: ServerSocket, service: Service, start: (queue: LiveRequestQueue) => Run): Run {
  const queue = new LiveRequestQueue();
  const run = start(queue);
  const client = new LiveSocket(
    socket,
    (data) => {
      // What comes when the run is over, and the client is about to hear of it, comes too late.
      if (queue.closed) return;
      try {
        passOn(data, queue, service.maxBodyBytes);
      } catch (error) {
        const [code, message] = error instanceof LiveMessageError ? [error.closeCode, error.message] : [1011, 'The message failed'];
        client.close(code, message, JSON.stringify({error: message, code: 'INVALID_MESSAGE'}));
        void run.return();
      }
    },
    () => void run.return(),
  );
  void relay(run, client, service);
  return run;
}

async function relay(run: Run, client: LiveSocket, service: Service): Promise<void> {
  try {
    for await (const event of run) await client.send(JSON.stringify(event));
    client.close(1000, 'The run is done');
  } catch (error) {
    service.report(error);
    const failure = clientError(error);
    client.close(CLOSE_CODES[failure.code] ?? 1011, failure.message, failureJson(failure));
  }
}

/** The ends of a run that are no failures. */
const CLOSE_CODES: Readonly<Record<string, number>> = {RUN_CANCELLED: 1000, RUNNER_CLOSED: 1001};

/** The parameters of ADK's `/run_live`, in snake_case or camelCase. */
class LiveQuery {
  readonly #parameters: URLSearchParams;

  constructor(parameters: URLSearchParams) {
    this.#parameters = parameters;
  }

  one(...names: readonly string[]): string | undefined {
    return names.map((name) => this.#parameters.get(name)).find((value) => value !== null) ?? undefined;
  }

  /** @throws {@link HttpProblem} 422 */
  runConfig(): RunConfig {
    const modalities = this.#parameters.getAll('modalities').map((modality) => modality.toUpperCase());
    if (modalities.some((modality) => modality !== 'TEXT' && modality !== 'AUDIO')) {
      throw invalid('modalities', 'TEXT or AUDIO', modalities.join(', '));
    }
    const proactiveAudio = this.#flag('proactive_audio', 'proactiveAudio');
    const enableAffectiveDialog = this.#flag('enable_affective_dialog', 'enableAffectiveDialog');
    const explicitVadSignal = this.#flag('explicit_vad_signal', 'explicitVadSignal');
    // A run resumes unless it is told not to.
    const resumes = this.#flag('enable_session_resumption', 'enableSessionResumption') !== false;
    return {
      ...(modalities.length > 0 && {responseModalities: modalities}),
      ...(proactiveAudio !== undefined && {proactivity: {proactiveAudio}}),
      ...(enableAffectiveDialog !== undefined && {enableAffectiveDialog}),
      ...(explicitVadSignal !== undefined && {explicitVadSignal}),
      ...(!resumes && {sessionResumption: false}),
      saveLiveBlob: this.#flag('save_live_blob', 'saveLiveBlob'),
    };
  }

  #flag(...names: readonly string[]): boolean | undefined {
    const value = this.one(...names)?.toLowerCase();
    if (value === undefined) return undefined;
    if (value === 'true' || value === '1') return true;
    if (value === 'false' || value === '0') return false;
    throw invalid(names[0] ?? '', 'true or false', value);
  }
}

function invalid(field: string, expected: string, received: string): HttpProblem {
  return new HttpProblem(422, 'INVALID_FIELD', `Expected \`${field}\` to be ${expected}, got ${JSON.stringify(received.slice(0, 80))}`, {
    field,
  });
}
