import type {Transcript} from './stage.ts';

/** A transcript without what differs between any two runs of one program: ids are named by their order, times are left out. */
export function canonical(transcript: Transcript): unknown {
  const names = new Map<string, string>();
  const counts: Record<string, number> = {};
  collectIds(transcript.events, (kind, id) => {
    if (names.has(id)) return;
    counts[kind] = (counts[kind] ?? 0) + 1;
    names.set(id, `${kind} ${counts[kind]}`);
  });
  return renamed(transcript, names);
}

function collectIds(value: unknown, found: (kind: string, id: string) => void): void {
  if (typeof value !== 'object' || value === null) return;
  for (const [key, member] of Object.entries(value) as [string, unknown][]) {
    if (key === 'invocationId') found('run', String(member));
    else if (key === 'functionCall') found('call', (member as {id: string}).id);
    collectIds(member, found);
  }
}

/** With names for ids, as keys too, keys in order, and without `id` and `timestamp` of Events. */
function renamed(value: unknown, names: ReadonlyMap<string, string>): unknown {
  if (typeof value === 'string') return names.get(value) ?? value;
  if (Array.isArray(value)) return value.map((item) => renamed(item, names));
  if (typeof value !== 'object' || value === null) return value;
  const isEvent = 'invocationId' in value;
  const members = Object.entries(value).filter(([key]) => !isEvent || (key !== 'id' && key !== 'timestamp'));
  const sorted = members.toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Object.fromEntries(sorted.map(([key, member]) => [names.get(key) ?? key, renamed(member, names)]));
}
