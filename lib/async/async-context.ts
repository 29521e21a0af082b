/** Calls a function in the async context that was captured. */
export type EnterContext = <T>(callback: () => T) => T;

interface AsyncHooks {
  readonly AsyncLocalStorage: {snapshot(): EnterContext};
}

const asyncHooks = builtin();

/** Captures the caller's async context: the values of its `AsyncLocalStorage`s. A host without them has nothing to capture. */
export function captureContext(): EnterContext {
  return asyncHooks ? asyncHooks.AsyncLocalStorage.snapshot() : (callback) => callback();
}

// A static `node:` import would keep the core from loading in a browser or a worker; a host that has the module hands it out here.
function builtin(): AsyncHooks | undefined {
  const host = (globalThis as {process?: {getBuiltinModule?: (id: string) => unknown}}).process;
  return host?.getBuiltinModule?.('node:async_hooks') as AsyncHooks | undefined;
}
