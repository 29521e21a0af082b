import type {Content, FunctionResponse, Part} from '../../content.ts';
import {isUserRequest} from '../../context/requests.ts';
import type {Event} from '../../events/event.ts';
import {servedParts} from '../../events/served-parts.ts';
import {HistoryLayout, type HistoryMark} from './history-layout.ts';
import {narrate, narrateResponse} from './history-narration.ts';
import {HistoryQuestions} from './history-questions.ts';
import {fitResponse, HistoryTurn, nextTwin, type HistoryCall} from './history-turn.ts';

export interface HistoryOptions {
  /** Whose request it is: this agent's words are the model's, those of other agents are told. */
  readonly agentName: string;
  /** The branch that the agent runs in. Without one it sees the Events of all branches. */
  readonly branch?: string | undefined;
  /** `'none'`: only the current turn, from the last thing that the user or another agent said. */
  readonly includeContents: 'default' | 'none';
}

/** What the responses of one Event came to. */
interface Taken {
  /** The calls of this agent that they answered belong to these. */
  readonly turns: Set<HistoryTurn>;
  /** Responses to other agents' calls, in words. */
  readonly told: Part[];
  /** Whether a call had waited for one of them. */
  isLate: boolean;
}

const NOTHING: Readonly<Taken> = {turns: new Set(), told: [], isLate: false};

/**
 * Turns a session's Events into the `contents` of the next model request, for one agent and one run. Every content with function calls
 * is followed by one content with a response for each, in call order, whatever a crash, a stop or a late answer made of the session.
 *
 * The contents follow from the Events alone, not from when they were asked for: a new History over the same Events gives the same.
 */
export class History {
  readonly #options: HistoryOptions;
  readonly #layout = new HistoryLayout();
  /** The latest call with an id: this agent's own, or the name of the agent that made it. */
  readonly #calls = new Map<string, HistoryCall | string>();
  /** Ids of calls that never wait for a response here: in branches that this agent does not see, or answered by the server. */
  readonly #otherCalls = new Set<string>();
  readonly #questions = new HistoryQuestions();
  #lastTurn: HistoryTurn | undefined;
  #read = 0;
  /** The Events that it has read, and those behind them. */
  #events: readonly Event[] = [];

  constructor(options: HistoryOptions) {
    this.#options = options;
  }

  /** Whether these Events begin with all that it has read, and the branch is its own. */
  continues(events: readonly Event[], branch: string | undefined): boolean {
    if (branch !== this.#options.branch || events.length < this.#read) return false;
    // Each of them: a store may have taken back what was said, and then it must not be said again.
    for (let at = 0; at < this.#read; at++) if (events[at] !== this.#events[at]) return false;
    return true;
  }

  /**
   * The contents for a request over these Events.
   *
   * @param events - the session's Events, always the same list, which only grows; only what was added since the last call is read
   * @returns a new array; the contents in it are shared with the session and with earlier results and must not be changed
   */
  contents(events: readonly Event[]): Content[] {
    this.#events = events;
    for (; this.#read < events.length; this.#read++) {
      const event = events[this.#read];
      const parts = event && !event.partial && partsOf(event);
      if (event && parts) this.#add(event, parts);
      if (event && parts && parts !== event.content?.parts) this.#questions.read(event, this.#calls, this.#layout);
    }
    return this.#layout.toContents(this.#options.includeContents === 'none' ? 'current' : 'all');
  }

  /** Whether a call with this id stands in the Events read so far, whichever agent or branch made it. */
  hasCall(id: string): boolean {
    return this.#calls.has(id) || this.#otherCalls.has(id);
  }

  #add(event: Event, parts: readonly Part[]): void {
    if (!this.#sees(event.branch)) {
      for (const {functionCall} of parts) if (functionCall?.id) this.#otherCalls.add(functionCall.id);
    } else if (event.author === 'user' || event.author === this.#options.agentName) this.#addOwn(event, parts);
    else this.#addOther(event, parts);
  }

  /** An Event belongs to its branch and to all below: `a.b` sees `a` and `a.b`, not `a.bc`, not `a.b.c`. */
  #sees(branch: string | undefined): boolean {
    const {branch: own} = this.#options;
    return !own || !branch || branch === own || (own.startsWith(branch) && own[branch.length] === '.');
  }

  #addOwn(event: Event, parts: readonly Part[]): void {
    const served = servedParts(parts);
    for (const {functionCall} of served) if (functionCall?.id) this.#otherCalls.add(functionCall.id);
    const answers = parts.some((part) => part.functionResponse && !served.has(part));
    const others = answers ? parts.filter((part) => !part.functionResponse || served.has(part)) : parts;
    const calls = others.some((part) => part.functionCall && !served.has(part));
    if (calls) this.#addTurn(event, withRole(event.content, others, 'model'));
    const taken = answers ? this.#takeResponses(event, served.size > 0 ? parts.filter((part) => !served.has(part)) : parts) : NOTHING;
    if (answers && (event.author === 'user' || taken.isLate)) this.#layout.moveToEnd([...taken.turns].filter((turn) => !turn.isWaiting));
    const said = taken.told.length > 0 ? [...taken.told, ...others] : others;
    if (calls || said.every(isEmpty)) return;
    const role = roleOf(event, answers);
    this.#layout.push(withRole(event.content, said, role), markOf(event, role, taken.turns));
  }

  #addTurn(event: Event, content: Content): void {
    const turn = new HistoryTurn(content, event);
    for (const call of turn.calls) {
      const {id} = call.call;
      if (!id) continue;
      const earlier = this.#calls.get(id);
      if (typeof earlier === 'object' && earlier.turn === turn) lastTwin(earlier).twin = call;
      else this.#calls.set(id, call);
    }
    this.#layout.pushTurn(turn);
    this.#lastTurn = turn;
  }

  #takeResponses(event: Event, parts: readonly Part[]): Taken {
    const taken: Taken = {turns: new Set(), told: [], isLate: false};
    const waiting = new Set(event.longRunningToolIds);
    for (const part of parts) {
      const response = part.functionResponse;
      if (!response) continue;
      const call = this.#callOf(response);
      if (typeof call === 'string') taken.told.push(...narrateResponse(call, response));
      else if (call) this.#answer(call, part, waiting, taken);
    }
    return taken;
  }

  /** The call that a response belongs to: by id, else the next open call of that name in the last turn. */
  #callOf({id, name}: FunctionResponse): HistoryCall | string | undefined {
    const known = id ? this.#calls.get(id) : undefined;
    if (typeof known === 'string') return known;
    return known ? nextTwin(known) : this.#lastTurn?.openCall(name, Boolean(id));
  }

  #answer(call: HistoryCall, part: Part, waiting: ReadonlySet<string>, taken: Taken): void {
    taken.isLate ||= call.waiting;
    call.response = fitResponse(part, call.call);
    call.waiting = Boolean(call.call.id && waiting.has(call.call.id));
    taken.turns.add(call.turn);
    this.#layout.change(call.turn);
  }

  #addOther(event: Event, parts: readonly Part[]): void {
    for (const {functionCall} of parts) if (functionCall?.id) this.#calls.set(functionCall.id, event.author);
    const told = narrate(event.author, parts);
    if (told.length > 0) this.#layout.push(withRole(undefined, told, 'user'), 'other-agent');
  }
}

/** What an Event says, also what was said aloud in a live run, as it was written down. */
function partsOf({content, inputTranscription, outputTranscription}: Event): readonly Part[] | undefined {
  const {text} = outputTranscription ?? inputTranscription ?? {};
  const parts = content?.parts?.some(isRequest) ? content.parts.filter((part) => !isRequest(part)) : content?.parts;
  return text ? [{text}, ...(parts ?? [])] : parts;
}

/** Whether a part is between a run and the user of the app. */
function isRequest({functionCall, functionResponse}: Part): boolean {
  return isUserRequest((functionCall ?? functionResponse)?.name);
}

function lastTwin(first: HistoryCall): HistoryCall {
  let last = first;
  while (last.twin) last = last.twin;
  return last;
}

function withRole(content: Content | undefined, parts: readonly Part[], role: 'user' | 'model'): Content {
  if (content?.role === role && content.parts === parts) return content;
  return Object.freeze({role, parts: Object.freeze(parts.map((part) => Object.freeze(part))) as Part[]});
}

function roleOf({author, content}: Event, answers: boolean): 'user' | 'model' {
  if (content?.role === 'user' || content?.role === 'model') return content.role;
  return author === 'user' || answers ? 'user' : 'model';
}

function markOf({author}: Event, role: 'user' | 'model', turns: ReadonlySet<HistoryTurn>): HistoryMark {
  if (author !== 'user') return turns.size > 0 ? ([...turns].at(-1) ?? 'plain') : 'plain';
  return role === 'model' || turns.size > 0 ? 'plain' : 'user-message';
}

/** Whether a part says nothing on the wire. An empty text with a signature must travel back. */
function isEmpty(part: Part): boolean {
  if (part.text) return false;
  for (const [key, value] of Object.entries(part)) {
    if (key !== 'thought' && value !== undefined && value !== '') return false;
  }
  return true;
}
