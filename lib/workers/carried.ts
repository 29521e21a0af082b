import type {AsyncLocalStorage} from 'node:async_hooks';
import type {StoredValue} from './messages.ts';

/** An `AsyncLocalStorage` whose value goes along to the threads. */
export interface CarriedStorage {
  readonly storage: AsyncLocalStorage<unknown>;
  /** The module that exports it, as a URL or its `href`: a thread has an instance of its own, and finds it there. */
  readonly module: URL | string;
  readonly export: string;
}

/** The storages' values here and now. */
export function valuesOf(storages: readonly CarriedStorage[]): StoredValue[] {
  return storages.flatMap(({storage, module, export: name}) => {
    const value = storage.getStore();
    return value === undefined ? [] : [{module: String(module), export: name, value}];
  });
}

/** The current context of OpenTelemetry, as the program's propagator writes it; nothing where the program has none. */
export function currentTelemetry(): Record<string, string> | undefined {
  const {context, propagation} = telemetryApi() ?? {};
  if (!context || !propagation) return undefined;
  const carrier: Record<string, string> = {};
  propagation.inject(context.active(), carrier, {set: (to: Record<string, string>, key: string, value: string) => void (to[key] = value)});
  return carrier;
}

/** What a program that has set up OpenTelemetry has registered; `@opentelemetry/api` keeps it there, whichever copy is asked. */
export interface TelemetryApi {
  readonly context?: {
    active(): unknown;
    with<T>(context: unknown, run: () => T): T;
  };
  readonly propagation?: {
    inject(context: unknown, carrier: object, setter: object): void;
    extract(context: unknown, carrier: object, getter: object): unknown;
  };
}

export function telemetryApi(): TelemetryApi | undefined {
  return (globalThis as Record<symbol, unknown>)[Symbol.for('opentelemetry.js.api.1')] as TelemetryApi | undefined;
}
