import {FILLER} from '../agents/llm/history-layout.ts';
import {History} from '../agents/llm/history.ts';
import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../events/event.ts';
import {isRecord} from '../schema/is-record.ts';

/** Summaries in place of a session's first Events, for one agent. Plain JSON, as it stands in the state. */
export interface Compaction {
  /** The last Event that the summaries cover. */
  readonly lastEventId: string;
  /** In the order of what they sum up. */
  readonly summaries: readonly string[];
}

/** A session's Events as one agent sees them, with summaries in place of the first of them. */
export class CompactedHistory {
  readonly events: readonly Event[];
  /** How many Events the summaries cover. */
  readonly covered: number;
  readonly summaries: readonly string[];
  readonly #context: Context;

  /** @param compaction - one of this session; anything else counts as none, and so does one whose last Event is not there any more */
  constructor(context: Context, compaction: unknown) {
    this.#context = context;
    this.events = context.session.events;
    const known = isCompaction(compaction) ? compaction : undefined;
    this.covered = known ? this.events.findLastIndex(({id}) => id === known.lastEventId) + 1 : 0;
    this.summaries = known && this.covered > 0 ? known.summaries : [];
  }

  /** What the agent's model was last sent, in tokens, as far as that says something about what is not covered. */
  get lastPromptTokens(): number {
    const {agentName, source} = this.#context;
    const isOwn = ({author, branch}: Event): boolean => author === agentName && branch === source.branch;
    return this.events.slice(this.covered).findLast((event) => event.usageMetadata && isOwn(event))?.usageMetadata?.promptTokenCount ?? 0;
  }

  /** Where the run under way begins. */
  get startOfRun(): number {
    const start = this.events.findIndex(({invocationId}) => invocationId === this.#context.invocationId);
    return start < 0 ? this.events.length : start;
  }

  /** Where each of the runs between these Events begins. */
  startsOfRuns(from: number, to: number): number[] {
    const starts = new Map<string, number>();
    for (let at = from; at < to; at++) {
      const {invocationId = ''} = this.events[at] ?? {};
      if (invocationId && !starts.has(invocationId)) starts.set(invocationId, at);
    }
    return [...starts.values()];
  }

  /** The contents of some Events. */
  contents(from: number, to: number = this.events.length): Content[] {
    const {agentName, source} = this.#context;
    const history = new History({agentName, branch: source.branch, includeContents: 'default'});
    return history.contents(this.events.slice(from, to));
  }

  /**
   * A request's contents with the summaries in place of what they cover. The user's message that the run is about stays in words. Contents
   * that do not begin as the session does, since somebody else has cut or changed them, stay as they are.
   */
  compact(contents: Content[]): Content[] {
    if (this.covered === 0) return contents;
    const all = this.contents(0);
    const rest = this.contents(this.covered);
    if (rest[0] === FILLER) rest.shift();
    const length = all.length - rest.length;
    if (!isSame(all.slice(length), rest) || !isSame(all.slice(0, length), contents.slice(0, length))) return contents;
    return [summaryContent(this.summaries), ...this.#message(), ...contents.slice(length)];
  }

  /** The user's message of this run, where it is covered. */
  #message(): Content[] {
    const isMessage = (event: Event): boolean => event.author === 'user' && getFunctionResponses(event).length === 0;
    const event = this.events.slice(this.startOfRun, this.covered).find(isMessage);
    return event?.content ? [{...event.content, role: 'user'}] : [];
  }
}

/** The summaries as a model is told them. */
export function summaryContent(summaries: readonly string[]): Content {
  return {role: 'user', parts: [{text: ['Summary of the conversation up to here:', ...summaries].join('\n\n')}]};
}

/** The last place up to `cut` at which no call is parted from its response. A call that waits stays, and so does the message that led to it. */
export function safeCut(events: readonly Event[], cut: number): number {
  const calls = readCalls(events);
  let safe = cut;
  for (let last = -1; last !== safe;) {
    last = safe;
    for (const {made, answered, waits} of calls) {
      if (made >= safe || (!waits && answered < safe)) continue;
      const {invocationId} = events[made] ?? {};
      const isLate = waits || events[answered]?.invocationId !== invocationId;
      // What is answered in a later run is sent again from the message on that led to it.
      safe = isLate
        ? Math.min(
            made,
            events.findIndex((event) => event.invocationId === invocationId),
          )
        : made;
    }
  }
  return safe;
}

interface Call {
  readonly made: number;
  /** Where its last response stands; before everything where it has none. */
  answered: number;
  waits: boolean;
}

function readCalls(events: readonly Event[]): Iterable<Call> {
  const calls = new Map<string, Call>();
  for (const [at, event] of events.entries()) {
    const waiting = new Set(event.longRunningToolIds);
    for (const {id} of getFunctionCalls(event)) if (id) calls.set(id, {made: at, answered: -1, waits: waiting.has(id)});
    for (const {id = ''} of getFunctionResponses(event)) {
      const call = calls.get(id);
      if (call) Object.assign(call, {answered: at, waits: waiting.has(id)});
    }
  }
  return calls.values();
}

function isCompaction(value: unknown): value is Compaction {
  if (!isRecord(value) || typeof value['lastEventId'] !== 'string') return false;
  const {summaries} = value;
  return Array.isArray(summaries) && summaries.length > 0 && summaries.every((summary) => typeof summary === 'string');
}

function isSame(one: readonly Content[], other: readonly Content[]): boolean {
  return (
    one.length === other.length &&
    one.every((content, at) => content === other[at] || JSON.stringify(content) === JSON.stringify(other[at]))
  );
}
