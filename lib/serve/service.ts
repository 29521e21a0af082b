import {Runner} from '../runner/runner.ts';
import {InMemorySessionService} from '../sessions/in-memory-session-service.ts';
import {Cors} from './cors.ts';
import type {HandlerOptions} from './handler-options.ts';
import {toProblem} from './http-problem.ts';
import {SessionRuns} from './session-runs.ts';

/** What all requests of a handler share. */
export class Service {
  readonly options: HandlerOptions;
  /** By the names of the apps. */
  readonly runners: ReadonlyMap<string, Runner>;
  readonly runs: SessionRuns;
  readonly cors: Cors;
  readonly maxBodyBytes: number;
  readonly #told = new WeakSet<object>();
  #closing: Promise<void> | undefined;

  /** @param options - checked ones */
  constructor(options: HandlerOptions) {
    this.options = options;
    this.runners = new Map(runnersOf(options).map((runner) => [runner.appName, runner]));
    this.runs = new SessionRuns((error) => this.report(error));
    this.cors = new Cors(options.cors);
    this.maxBodyBytes = options.maxBodyBytes ?? 20 * 1024 * 1024;
  }

  /** Whether it starts no runs any more. */
  get closing(): boolean {
    return this.#closing !== undefined;
  }

  close(timeoutMs = 5_000): Promise<void> {
    this.#closing ??= Promise.all(
      [...this.runners.values()].map((runner) => runner.close({timeoutMs}).catch((error: unknown) => this.report(error))),
    ).then(() => {});
    return this.#closing;
  }

  /** Tells the server's log of a failure, once, unless the client is at fault. */
  report(error: unknown): void {
    const {status} = toProblem(error);
    if (status < 500 || status === 503 || this.#told.has(error as object)) return;
    if (typeof error === 'object' && error !== null) this.#told.add(error);
    void this.#log(error);
  }

  async #log(error: unknown): Promise<void> {
    // oxlint-disable-next-line no-console -- the default of onError
    const {onError = (error) => console.error('sluice: a request failed:', error)} = this.options;
    try {
      await onError(error);
    } catch {
      // A log that fails must not change what the client gets.
    }
  }
}

function runnersOf(options: HandlerOptions): readonly Runner[] {
  const {agents, runner, runners, artifactService, runConfig, onDiagnostic} = options;
  if (runner) return [runner];
  if (runners) return runners;
  const {sessionService = new InMemorySessionService()} = options;
  const config = {sessionService, artifactService, runConfig, onDiagnostic};
  return Object.entries(agents ?? {}).map(([appName, agent]) => new Runner({...config, appName, agent}));
}
