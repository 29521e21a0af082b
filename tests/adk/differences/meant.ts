import type {Difference} from '../compare.ts';

/** Where a difference shows. A side without a pattern must have nothing there; one with a pattern must match it, as text or as JSON. */
export interface Trace {
  readonly at: string;
  readonly adk?: RegExp;
  readonly sluice?: RegExp;
}

/** A difference that is meant. */
export interface Meant {
  /** As docs/from-adk.md calls it. */
  readonly name: string;
  readonly why: string;
  /** Each must show in at least one program. */
  readonly traces: readonly Trace[];
  /** The programs that show it, all of them; missing where most do. */
  readonly programs?: readonly string[];
}

/** A function response as the reader and as the model gets it. */
export const inResponses = (key: string, trace: Omit<Trace, 'at'>): Trace[] => [
  {at: `events[].content.parts[].functionResponse.response.${key}`, ...trace},
  {at: `requests[].contents[].parts[].functionResponse.response.${key}`, ...trace},
];

/** Whether a trace is what was found. */
export function matches({at, adk, sluice}: Trace, difference: Difference): boolean {
  return at === difference.at && fits(adk, difference.adk) && fits(sluice, difference.sluice);
}

function fits(pattern: RegExp | undefined, value: unknown): boolean {
  if (!pattern || value === undefined) return pattern === value;
  return pattern.test(typeof value === 'string' ? value : JSON.stringify(value));
}
