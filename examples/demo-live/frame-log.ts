import type {LiveFrame} from 'sluice/gemini';
import {brief, fit, line, ms, paint, width} from '../demo/screen.ts';
import {bytesOf} from './sound.ts';

/** A frame of a live connection, read. */
export interface Frame {
  readonly direction: LiveFrame['direction'];
  readonly connection: number;
  /** On the scale of `performance.now()`. */
  readonly at: number;
  /** `opened`, `closed`, or what the message holds: `toolCall`, `serverContent.interrupted`, `realtimeInput.audio` ... */
  readonly kind: string;
  readonly body: Body;
  readonly data: string;
}

/** What the demo reads in messages of either side. */
interface Body {
  readonly setup?: {readonly sessionResumption?: object};
  readonly serverContent?: {readonly modelTurn?: {readonly parts?: readonly {readonly inlineData?: {readonly data?: string}}[]}};
  readonly toolCall?: {readonly functionCalls: readonly WireCall[]};
  readonly toolResponse?: {readonly functionResponses: readonly WireCall[]};
  readonly toolCallCancellation?: {readonly ids: readonly string[]};
}

interface WireCall {
  readonly id?: string;
  readonly name?: string;
  readonly args?: object;
  readonly response?: object;
}

/** How many columns the name of a kind has. */
const KIND = 24;
const INDENT = 18 + KIND;
/** Where the rows below a frame begin. */
const BELOW = 17;

/** All that goes over the wire, as the option `onLiveFrame` of `Gemini` tells it. */
export class FrameLog {
  /** What the times of a demo's section count from. */
  readonly start: number = performance.now();
  readonly #frames: Frame[] = [];

  readonly onLiveFrame = ({direction, connection, data}: LiveFrame): void => {
    const isMessage = direction === 'sent' || direction === 'received';
    const body = (isMessage ? JSON.parse(data) : {}) as Body;
    const kind = isMessage ? kindOf(body) : direction;
    // The server strews in messages that say nothing.
    if (kind) this.#frames.push({direction, connection, at: performance.now(), kind, body, data});
  };

  /** The frames of these kinds, in order. */
  of(...kinds: readonly string[]): readonly Frame[] {
    return this.#frames.filter(({kind}) => kinds.includes(kind));
  }

  /** How many bytes of the model's sound have come until then. */
  soundUntil(at: number = Infinity): number {
    const frames = this.#frames.filter((frame) => frame.at <= at);
    const parts = frames.flatMap(({body}) => body.serverContent?.modelTurn?.parts ?? []);
    return parts.reduce((bytes, {inlineData}) => bytes + bytesOf(inlineData?.data ?? ''), 0);
  }

  /** Prints the frames of these kinds, shortened. */
  print(...kinds: readonly string[]): void {
    line(paint('bold', '  On the wire'));
    for (const frame of this.of(...kinds)) {
      line(`${this.#head(frame)}${textOf(frame)}`);
      for (const row of callsOf(frame)) line(`${' '.repeat(BELOW)}${row}`);
    }
  }

  #head({at, direction, connection, kind}: Frame): string {
    const arrow = {sent: '→', received: '←', opened: '○', closed: '╳'}[direction];
    const time = ms(Math.round(at - this.start))
      .replace('.0 ', ' ')
      .padStart(9);
    const name = kind.replace('serverContent.', '').padEnd(KIND);
    return `${paint('dim', `${time}  #${connection}`)}  ${paint(direction === 'sent' ? 'cyan' : 'green', `${arrow} ${name}`)}`;
  }
}

function kindOf(body: Body): string {
  const [[kind, payload] = ['', undefined]] = Object.entries(body) as [string, object | undefined][];
  const detail = kind === 'serverContent' || kind === 'realtimeInput' ? Object.keys(payload ?? {})[0] : undefined;
  return detail ? `${kind}.${detail}` : kind;
}

/** What a frame says, on its own row. */
function textOf({kind, body, data}: Frame): string {
  const {setup, toolCall, toolResponse, toolCallCancellation} = body;
  const columns = width - INDENT;
  if (toolCall) return count(toolCall.functionCalls, 'call');
  if (toolResponse) return count(toolResponse.functionResponses, 'answer');
  if (toolCallCancellation) return count(toolCallCancellation.ids, 'id');
  if (setup) return fit(`sessionResumption: ${brief(setup.sessionResumption)}, …`, columns);
  // Of a URL the end tells most.
  if (kind === 'opened') return data.length <= columns ? data : `…${data.slice(1 - columns)}`;
  return fit(kind === 'closed' ? data : brief(Object.values(body)[0]), columns);
}

/** The calls that a frame is about, on rows below it. */
function callsOf({body: {toolCall, toolResponse, toolCallCancellation}}: Frame): string[] {
  if (toolCall) return toolCall.functionCalls.map(({id, name, args}) => callRow(id, `${name} ${brief(args)}`));
  if (toolResponse) return toolResponse.functionResponses.map(({id, name, response}) => callRow(id, `${name} ${brief(response)}`));
  return toolCallCancellation?.ids.map((id) => callRow(id)) ?? [];
}

function callRow(id = '', text?: string): string {
  return `${paint('yellow', id)}${text ? `  ${fit(text, width - BELOW - id.length - 2)}` : ''}`;
}

function count(items: readonly unknown[], what: string): string {
  return `${items.length} ${what}${items.length === 1 ? '' : 's'}`;
}
