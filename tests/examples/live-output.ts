/** The rows of Events, without their times and what follows below them; of one that grows, its first piece. */
export function rowsOf(text: string): string[] {
  const rows = text.matchAll(/^ *[\d,]+ ms {2}(\w+) +([●·]) (\w+) +(.*)$/gm);
  return [...rows].map(([, who, mark, kind, told = '']) => `${who} ${mark} ${kind} ${told.split('┊')[0]?.trim()}`);
}

/** All that grows on the rows of an author, its lines joined. */
export function said(text: string, author: string): string {
  const rows = [...text.matchAll(/^ *[\d,]+ ms {2}(\w+) +· partials {2}(.*(?:\n {33}.*)*)/gm)].filter(([, who]) => who === author);
  return rows.map(([, , grown = '']) => grown.replaceAll(/\n {33}/g, '')).join('');
}

/** The names of the bars, and which of them are cut off. */
export function bars(text: string): string[] {
  return [...text.matchAll(/^ {2}(\w+) +[▐█][^╳\n]*(╳?)/gm)].map(([, name, cut]) => [name, cut].join(' ').trim());
}

/** The frames, without their times, and the ids below them. */
export function wire(text: string): string[] {
  const rows = text.split('On the wire\n')[1]?.split('\n') ?? [];
  return rows.flatMap((row) => /#\d {2}[←→○╳].*/.exec(row)?.[0].replaceAll(/ +/g, ' ') ?? /^ +(function-call-\d+)/.exec(row)?.[1] ?? []);
}

/** What a pattern finds, as numbers. */
export function numbers(text: string, pattern: RegExp): number[] {
  return pattern.exec(text)?.map((found) => Number(found.replaceAll(',', ''))) ?? [];
}
