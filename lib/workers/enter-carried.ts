import {AsyncLocalStorage} from 'node:async_hooks';
import {telemetryApi} from './carried.ts';
import {loadModule} from './load-body.ts';
import type {StoredValue, Task} from './messages.ts';
import {WorkerError} from './worker-errors.ts';

/** Runs a function in the async context that came with a task. */
export type Enter = <T>(run: () => T) => T;

/**
 * The async context that came with a task: values in the thread's own instances of the storages, OpenTelemetry's context where the thread
 * has set it up.
 *
 * @throws {@link WorkerError} where a storage is not where it was said to be
 */
export async function enterCarried({tool, stored, telemetry}: Task): Promise<Enter> {
  let enter: Enter = (run) => run();
  for (const value of stored) {
    const storage = await findStorage(tool, value);
    const outer = enter;
    enter = (run) => outer(() => storage.run(value.value, run));
  }
  return telemetry ? withTelemetry(telemetry, enter) : enter;
}

async function findStorage(tool: string, {module, export: name}: StoredValue): Promise<AsyncLocalStorage<unknown>> {
  const {[name]: storage} = await loadModule(module, {tool, what: `the module of the AsyncLocalStorage \`${name}\`:`});
  if (storage instanceof AsyncLocalStorage) return storage;
  throw new WorkerError(tool, `needs the AsyncLocalStorage \`${name}\` of ${module} (asyncLocalStorages), which is not there`);
}

function withTelemetry(carrier: Readonly<Record<string, string>>, enter: Enter): Enter {
  const {context, propagation} = telemetryApi() ?? {};
  if (!context || !propagation) return enter;
  const getter = {get: (from: Readonly<Record<string, string>>, key: string) => from[key], keys: Object.keys};
  return (run) => enter(() => context.with(propagation.extract(context.active(), carrier, getter), run));
}
