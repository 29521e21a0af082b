/** The known name that a misspelt one most likely means: it differs by at most two letters and half of them, or one begins the other. */
export function nearest(name: string, known: readonly string[]): string | undefined {
  const [best] = known.map((candidate) => ({candidate, edits: distance(name, candidate)})).toSorted((a, b) => a.edits - b.edits);
  if (best && best.edits <= 2 && best.edits <= name.length / 2) return best.candidate;
  return known.find((candidate) => name.length > 2 && (candidate.startsWith(name) || name.startsWith(candidate)));
}

/** How many letters must be added, dropped or replaced to make one text of the other. */
function distance(a: string, b: string): number {
  let row = Array.from({length: b.length + 1}, (_, at) => at);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
