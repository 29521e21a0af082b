import type {Ended} from './program.ts';

/** The part of a demo's output that begins with this number. */
export function section({stdout}: Ended, number: number): string {
  const start = stdout.search(new RegExp(`^${number}  `, 'm'));
  const end = stdout.search(new RegExp(`^${number + 1}  `, 'm'));
  return stdout.slice(start, end === -1 ? undefined : end);
}

/** The first group of a pattern, as a number; `NaN` where it is not found. */
export function milliseconds(text: string, pattern: RegExp): number {
  return Number(pattern.exec(text)?.[1]?.replaceAll(',', ''));
}
