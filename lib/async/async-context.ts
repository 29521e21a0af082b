/** Calls a function in the async context that was captured. */
export type EnterContext = <T>(callback: () => T) => T;

interface AsyncHooks {
  readonly AsyncResource: new (type: string) => {runInAsyncScope<T>(callback: () => T): T};
}

const asyncHooks = builtin();

/** Captures the caller's async context: the values of its `AsyncLocalStorage`s. A host without them has nothing to capture. */
export function captureContext(): EnterContext {
  if (!asyncHooks) return (callback) => callback();
  // `AsyncLocalStorage.snapshot()` does the same at 250 times the price, and leaves behind a hidden class for each of them.
  const resource = new asyncHooks.AsyncResource('SluiceRun');
  return (callback) => resource.runInAsyncScope(callback);
}

// A static `node:` import would keep the core from loading in a browser or a worker; a host that has the module hands it out here.
function builtin(): AsyncHooks | undefined {
  const host = (globalThis as {process?: {getBuiltinModule?: (id: string) => unknown}}).process;
  return host?.getBuiltinModule?.('node:async_hooks') as AsyncHooks | undefined;
}
