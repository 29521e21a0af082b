import type {Diagnostic} from '../agents/diagnostic.ts';

/** Warns on the console, once per code and name. */
export function warnOnce(): (diagnostic: Diagnostic) => void {
  const told = new Set<string>();
  return ({code, name, message}) => {
    const key = `${code} ${name}`;
    if (told.has(key)) return;
    told.add(key);
    // oxlint-disable-next-line no-console -- the default of onDiagnostic
    console.warn(`sluice: ${code}: ${message}`);
  };
}

/** An observer that may fail, at once or later: how a run ends must not change by it. */
export function guarded(observe: (diagnostic: Diagnostic) => unknown): (diagnostic: Diagnostic) => void {
  return (diagnostic) => {
    void (async () => observe(diagnostic))().catch(() => {});
  };
}
