import type {ToolRequest} from 'sluice/testing';
import {ms, paint, width} from './screen.ts';

/** One bar. Times are in milliseconds from the axis's start. */
export interface Bar {
  readonly name: string;
  readonly start: number;
  readonly end: number;
  /** Whether it was cut off. */
  readonly cut: boolean;
}

const LABEL = 18;
const NOTE = 26;
const CELLS: number = width - LABEL - NOTE;
const COLOURS = ['cyan', 'magenta', 'yellow'] as const;

/** What a service saw, as bars in the order of arrival; the axis starts with the first request. */
export async function barsOf(requests: readonly ToolRequest[], nameOf: (request: ToolRequest) => string): Promise<Bar[]> {
  const start = Math.min(...requests.map(({startedAt}) => startedAt));
  return Promise.all(
    requests.map(async (request) => {
      const {early, afterMs} = await request.closed;
      const begin = request.startedAt - start;
      return {name: nameOf(request), start: begin, end: begin + afterMs, cut: early};
    }),
  );
}

/** From the first start to the last end. */
export function span(bars: readonly Bar[]): number {
  return Math.max(0, ...bars.map(({end}) => end));
}

/** A moment on the axis that is pointed at. */
export interface Moment {
  readonly at: number;
  readonly text: string;
}

/** The bars on an axis of their own, line by line. */
export function timeline(bars: readonly Bar[], moment?: Moment): string[] {
  const axisMs = span(bars) * 1.02;
  return [...rows(bars, axisMs), ...(moment ? [pointer(moment, axisMs)] : []), axis(axisMs)];
}

/** The bars on an axis of `axisMs`, one row each. */
export function rows(bars: readonly Bar[], axisMs: number): string[] {
  return bars.map((bar, at) => {
    const drawn = draw(bar, axisMs);
    const cross = bar.cut ? '╳' : '';
    const gap = ' '.repeat(Math.max(0, CELLS - drawn.length - cross.length));
    const note = bar.cut ? `closed after ${ms(bar.end - bar.start)}` : `${Math.round(bar.start).toLocaleString('en-US')} → ${ms(bar.end)}`;
    const colour = COLOURS[at % COLOURS.length] ?? 'reset';
    const tail = paint(bar.cut ? 'red' : 'dim', note.padStart(NOTE - 2));
    return `  ${bar.name.padEnd(LABEL - 2)}${paint(colour, drawn)}${paint('red', cross)}${gap}${tail}`;
  });
}

/** The axis below the bars: a number every so many milliseconds. */
export function axis(axisMs: number): string {
  // Nine columns hold a number and a gap.
  const step = [50, 100, 200, 400, 500, 1_000, 2_500].find((candidate) => columnOf(candidate, axisMs) >= 9) ?? 5_000;
  let text = '';
  for (let at = 0; at <= axisMs; at += step) text = `${text.padEnd(columnOf(at, axisMs))}${at.toLocaleString('en-US')} `;
  return paint('dim', `${' '.repeat(LABEL)}${text}ms`);
}

function pointer({at, text}: Moment, axisMs: number): string {
  return paint('red', `${' '.repeat(LABEL + columnOf(at, axisMs))}▲ ${text}`);
}

function columnOf(at: number, axisMs: number): number {
  return Math.min(CELLS, Math.round((at / axisMs) * CELLS));
}

/** A bar in eighths of a character. */
function draw({start, end}: Bar, axisMs: number): string {
  const eighths = (value: number): number => Math.round((value / axisMs) * CELLS * 8);
  const from = eighths(start);
  const to = Math.max(from + 4, eighths(end));
  const first = Math.floor(from / 8);
  const last = Math.floor(to / 8);
  if (first === last) return `${' '.repeat(first)}▌`;
  const head = from % 8 >= 4 ? '▐' : '█';
  const tail = to % 8 === 0 ? '' : (' ▏▎▍▌▋▊▉'[to % 8] ?? '');
  return `${' '.repeat(first)}${head}${'█'.repeat(last - first - 1)}${tail}`;
}
