import {confirmationOf} from '../../answers/confirmation.ts';
import {isUserRequest, REQUEST_CONFIRMATION, requestedCallId} from '../../context/requests.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../../events/event.ts';

/** One call of a session, and how far it has come. */
interface TrackedCall {
  readonly id: string;
  /** Its name and id. */
  readonly told: string;
  /** Where it stands. */
  readonly event: Event;
  /** Of a request to the user: the call that it is about. */
  readonly about?: TrackedCall | undefined;
  /** What it has asked the user so far. */
  readonly requests: TrackedCall[];
  /** `granted`: the user has answered all that it had asked, or has refused it, and its next response has not come yet. */
  state: 'open' | 'waits' | 'granted' | 'over';
  /** Waits for the answer to a request, and not for its own response. */
  asks: boolean;
  /** The run whose message has granted it. */
  grantedIn?: string;
}

/** What has to come next in a branch: the responses to a reply, or to the calls that were granted. */
interface Due {
  readonly at: number;
  readonly calls?: readonly TrackedCall[] | undefined;
  /** What the user has just been asked about. */
  readonly asked: readonly TrackedCall[];
}

/** An answer of the user's to a request of a call. */
export interface Grant {
  readonly callId: string;
  readonly invocationId: string;
  /** Whether it is one to a request for confirmation. */
  readonly confirms: boolean;
  readonly response: unknown;
}

/**
 * Follows every call of a session, Event by Event, to its one final response. `add` and `end` say what is wrong, `undefined` where nothing is.
 *
 * A reply with calls is followed, in its branch, by the response to each, in call order. Where a call asks the user, the Event with its
 * request stands in between, and its response is provisional. The user answers a request once; in the run that brings the last answer, or a
 * refusal, the call gets another response. Any other call that waits is answered by the user, once.
 */
export class CallTracker {
  readonly grants: Grant[] = [];
  readonly #calls = new Map<string, TrackedCall>();
  readonly #due = new Map<string | undefined, Due>();
  #count = 0;

  /** The Event that a call stands in. */
  eventOf(id: string): Event | undefined {
    return this.#calls.get(id)?.event;
  }

  add(event: Event): string | undefined {
    const at = this.#count++;
    const due = this.#due.get(event.branch);
    if (isRequestEvent(event) && !due?.asked.length) return this.#ask(event, at, due?.calls);
    this.#due.delete(event.branch);
    if (due) return this.#answer(event, due);
    if (getFunctionCalls(event).length > 0) return this.#open(event, at);
    return event.author === 'user' ? this.#takeAnswers(event, at) : this.#answerLate(event, at);
  }

  /** What is still missing when the last run is over. */
  end(): string | undefined {
    const [due] = this.#due.values();
    if (due) return `the calls of Event ${due.at} have no responses`;
    const granted = [...this.#calls.values()].find(({state}) => state === 'granted');
    return granted && `the user has answered what ${granted.told} had asked, and it has no response since`;
  }

  #open(event: Event, at: number): string | undefined {
    const calls: TrackedCall[] = [];
    for (const {id = '', name} of getFunctionCalls(event)) {
      if (id === '') return `Event ${at} has a call without an id`;
      if (this.#calls.has(id)) return `two calls have the id ${id}`;
      const call: TrackedCall = {id, told: `${name}(${id})`, event, requests: [], state: 'open', asks: false};
      this.#calls.set(id, call);
      calls.push(call);
    }
    this.#due.set(event.branch, {at, calls, asked: []});
    return undefined;
  }

  #ask(event: Event, at: number, calls: readonly TrackedCall[] | undefined): string | undefined {
    const asked: TrackedCall[] = [];
    for (const call of getFunctionCalls(event)) {
      const {id = '', name} = call;
      if (this.#calls.has(id)) return `two calls have the id ${id}`;
      const about = this.#calls.get(requestedCallId(call) ?? '');
      if (!about || (calls ? !calls.includes(about) : about.state !== 'granted'))
        return `Event ${at} asks about a call that is not being run`;
      const request: TrackedCall = {id, told: `${name}(${id})`, event, about, requests: [], state: 'waits', asks: false};
      this.#calls.set(id, request);
      about.requests.push(request);
      asked.push(about);
    }
    this.#due.set(event.branch, {at, calls, asked});
    return undefined;
  }

  #answer(event: Event, {at, calls, asked}: Due): string | undefined {
    const given = tellResponses(event);
    const wanted = calls?.map(({told}) => told).join(', ');
    if (calls && wanted !== given) return `Event ${at} calls ${wanted}, and the next Event answers ${given || 'nothing'}`;
    const flaw = calls ? this.#settle(event) : this.#answerLate(event, at + 1);
    if (flaw) return flaw;
    const unheard = asked.find(({state}) => state !== 'waits');
    if (unheard) return `the user is asked about ${unheard.told}, which does not wait`;
    const silent = this.#answered(event).find((call) => call.asks && !asked.includes(call));
    return silent && `${silent.told} waits for the answer to a request that the user has not got`;
  }

  /** What the user says to calls that wait. */
  #takeAnswers(event: Event, at: number): string | undefined {
    for (const {id = '', name, response} of getFunctionResponses(event)) {
      const call = this.#calls.get(id);
      if (call?.state !== 'waits' || call.asks || call.about?.state === 'over')
        return `Event ${at} answers ${name}(${id}), which does not wait for the user`;
      call.state = 'over';
      const {about} = call;
      if (!about) continue;
      this.grants.push({callId: about.id, invocationId: event.invocationId, confirms: name === REQUEST_CONFIRMATION, response});
      const isRefused = name === REQUEST_CONFIRMATION && !confirmationOf(response).confirmed;
      if (about.state !== 'waits' || !(isRefused || about.requests.every(({state}) => state === 'over'))) continue;
      about.state = 'granted';
      about.grantedIn = event.invocationId;
    }
    return undefined;
  }

  /** The responses to calls that the message of the run has granted. */
  #answerLate(event: Event, at: number): string | undefined {
    const calls = this.#answered(event);
    const isGranted = calls.every(({state, grantedIn}) => state === 'granted' && grantedIn === event.invocationId);
    if (!isGranted || calls.length < getFunctionResponses(event).length) {
      return `Event ${at} answers ${tellResponses(event)}, and the Event before it has no such calls`;
    }
    const inOrder = [...this.#calls.values()].filter((call) => calls.includes(call));
    if (inOrder.some((call, index) => call !== calls[index])) return `Event ${at} does not answer its calls in their order`;
    return this.#settle(event);
  }

  #settle(event: Event): string | undefined {
    const {longRunningToolIds = [], actions} = event;
    for (const call of this.#answered(event)) {
      const {id, told, event: made} = call;
      if (made.author !== event.author || made.branch !== event.branch) {
        return `${told} was made by ${tellPlace(made)}, and ${tellPlace(event)} has its response`;
      }
      call.state = longRunningToolIds.includes(id) ? 'waits' : 'over';
      call.asks = call.state === 'waits' && (id in actions.requestedToolConfirmations || id in actions.requestedAuthConfigs);
      const isLongRunning = made.longRunningToolIds?.includes(id);
      if (call.state === 'waits' && !call.asks && !isLongRunning) return `${told} waits, and has asked for nothing`;
    }
    return undefined;
  }

  /** The calls that an Event has responses to. */
  #answered(event: Event): TrackedCall[] {
    return getFunctionResponses(event).flatMap(({id = ''}) => this.#calls.get(id) ?? []);
  }
}

/** Whether an Event asks the user something, for calls that cannot go on without. A model may call a tool of that name too: nobody waits then. */
function isRequestEvent(event: Event): boolean {
  const calls = getFunctionCalls(event);
  return calls.length > 0 && calls.every(({id = '', name}) => isUserRequest(name) && event.longRunningToolIds?.includes(id));
}

function tellResponses(event: Event): string {
  return getFunctionResponses(event)
    .map(({id, name}) => `${name}(${id})`)
    .join(', ');
}

function tellPlace({author, branch}: Event): string {
  return branch === undefined ? author : `${author} in branch ${branch}`;
}
