/** One thing that the two packages did differently. A side that has nothing there lacks the key. */
export interface Difference {
  /** Where, without positions in lists and names of models: `requests[].config.systemInstruction[]`. */
  readonly at: string;
  readonly adk?: unknown;
  readonly sluice?: unknown;
}

type Json = Record<string, unknown>;

/** One thing under two names, the second with a schema in JSON Schema's notation. */
const RENAMED = [
  ['parameters', 'parametersJsonSchema'],
  ['responseSchema', 'responseJsonSchema'],
] as const;

/** All that differs between what ADK and what Sluice did. Lists are aligned, so that one item more does not shift the rest. */
export function compare(adk: unknown, sluice: unknown, at = ''): Difference[] {
  if (Array.isArray(adk) && Array.isArray(sluice)) return compareLists(adk, sluice, `${at}[]`);
  if (isObject(adk) && isObject(sluice)) return compareObjects(adk, sluice, at);
  if (same(adk, sluice)) return [];
  if (at.endsWith('systemInstruction')) return compareLists(paragraphs(adk), paragraphs(sluice), `${at}[]`);
  return [{at, adk, sluice}];
}

function compareObjects(given: Json, sluice: Json, at: string): Difference[] {
  const differences: Difference[] = [];
  const adk = {...given};
  for (const [old, name] of RENAMED) {
    if (!(old in adk) || !(name in sluice)) continue;
    differences.push({at: join(at, old), adk: old, sluice: name});
    adk[name] = inLowerCase(adk[old]);
    delete adk[old];
  }
  for (const key of Object.keys({...adk, ...sluice}).toSorted()) {
    const below = at === 'requests' ? at : join(at, key);
    if (!(key in adk)) differences.push({at: below, sluice: sluice[key]});
    else if (!(key in sluice)) differences.push({at: below, adk: adk[key]});
    else differences.push(...compare(adk[key], sluice[key], below));
  }
  return differences;
}

/** Pairs what is alike, in order, so that as much as can be is paired. */
function compareLists(adk: readonly unknown[], sluice: readonly unknown[], at: string): Difference[] {
  const best = bestPairings(adk, sluice);
  const differences: Difference[] = [];
  let [i, j] = [0, 0];
  while (i < adk.length || j < sluice.length) {
    const alike = i < adk.length && j < sluice.length ? likeness(adk[i], sluice[j]) : 0;
    if (alike > 0 && best(i, j) === best(i + 1, j + 1) + alike) differences.push(...compare(adk[i++], sluice[j++], at));
    else if (i < adk.length && best(i, j) === best(i + 1, j)) differences.push({at, adk: adk[i++]});
    else differences.push({at, sluice: sluice[j++]});
  }
  return differences;
}

/** How alike two lists are from these positions on, at their best pairing: the usual table of longest common subsequences. */
function bestPairings(adk: readonly unknown[], sluice: readonly unknown[]): (i: number, j: number) => number {
  const table = Array.from({length: adk.length + 1}, () => Array.from({length: sluice.length + 1}, () => 0));
  const best = (i: number, j: number): number => table[i]?.[j] ?? 0;
  for (let i = adk.length - 1; i >= 0; i--) {
    for (let j = sluice.length - 1; j >= 0; j--) {
      const paired = best(i + 1, j + 1) + likeness(adk[i], sluice[j]);
      (table[i] ?? [])[j] = Math.max(paired, best(i + 1, j), best(i, j + 1));
    }
  }
  return best;
}

/** 3 for what is the same, 2 for what is of one kind, 0 for what is not. */
function likeness(a: unknown, b: unknown): number {
  if (same(a, b)) return 3;
  return isObject(a) && isObject(b) && kind(a) === kind(b) ? 2 : 0;
}

/** What an Event, a content, a part, or a declaration is about. */
function kind(value: Json): string {
  const {actions, author, content, invocationId, name, partial, parts, role} = value;
  if (actions) return JSON.stringify([invocationId, author, partial, isObject(content) ? saidIn(content['parts']) : []]);
  if (parts) return JSON.stringify([role, saidIn(parts)]);
  if (typeof name === 'string') return name;
  return partKind(value) ?? Object.keys(value).join();
}

/** The calls and responses of a content, and how its last text begins. */
function saidIn(parts: unknown): unknown[] {
  const list = parts as readonly Json[];
  const texts = list.filter((part) => 'text' in part);
  return [...list.filter((part) => !('text' in part)), ...texts.slice(-1)].map(partKind);
}

function partKind({functionCall, functionResponse, text}: Json): string | undefined {
  if (isObject(functionCall)) return `call ${String(functionCall['name'])}`;
  if (isObject(functionResponse)) return `response ${String(functionResponse['name'])}`;
  return typeof text === 'string' ? text.slice(0, 12) : undefined;
}

const join = (at: string, key: string): string => (at === '' ? key : `${at}.${key}`);
const same = (a: unknown, b: unknown): boolean => JSON.stringify(a) === JSON.stringify(b);
const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const paragraphs = (text: unknown): string[] => String(text).split('\n\n');

/** A schema in genai's notation, whose types are in capitals, in that of JSON Schema. */
function inLowerCase(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(inLowerCase);
  if (!isObject(schema)) return schema;
  const members = Object.entries(schema).map(([key, value]) => [
    key,
    key === 'type' && typeof value === 'string' ? value.toLowerCase() : inLowerCase(value),
  ]);
  return Object.fromEntries(members);
}
