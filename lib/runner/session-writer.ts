import {RunCancelledError, SessionConflictError} from '../errors.ts';
import type {Part} from '../content.ts';
import type {Event} from '../events/event.ts';
import {recordEvent, toStored, type BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session} from '../sessions/session.ts';
import type {Steps} from '../steps/steps.ts';

/** The one place where a run writes to its session. It can be fenced: afterwards nothing that the run left behind can write. */
export class SessionWriter {
  readonly #service: BaseSessionService;
  /** The run's view of the session. */
  readonly session: Session;
  readonly #epoch: number | undefined;
  readonly #unstored: Event[] = [];
  /** What is stored of an Event; by default the Event as it is. */
  review: ((event: Event, steps: Steps) => Promise<Event>) | undefined;
  #inFlight = 0;
  #fenced = false;
  #lastEventId: string | undefined;

  constructor(service: BaseSessionService, session: Session, epoch: number | undefined) {
    this.#service = service;
    this.session = session;
    this.#epoch = epoch;
  }

  /** Whether a write is under way. */
  get busy(): boolean {
    return this.#inFlight > 0;
  }

  get lastEventId(): string | undefined {
    return this.#lastEventId;
  }

  /**
   * Stores an Event and adds it to the run's view of the session, as a record of its own, so that whoever gets the Event afterwards may
   * change it.
   *
   * @returns the Event for the reader
   * @throws {@link SessionConflictError} where a later run took the session over; it holds every Event refused so far, this one included
   */
  append(given: Event, steps: Steps): Promise<Event> {
    return this.#fenced
      ? Promise.reject(new RunCancelledError('The run has ended; nothing more is stored'))
      : this.appendLast(given, steps);
  }

  /** The same for what the closing of the run stores, also behind the fence. */
  async appendLast(given: Event, steps: Steps): Promise<Event> {
    const reviewed = this.review ? await this.review(given, steps) : given;
    const event = withoutEmptyContent(reviewed);
    if (this.#unstored.length > 0) throw this.#conflict(event);
    this.#inFlight++;
    try {
      await steps.step(`append ${event.id}`, () => this.#write(event));
    } catch (error) {
      throw error instanceof SessionConflictError ? this.#conflict(event) : error;
    } finally {
      this.#inFlight--;
    }
    this.#record(event);
    this.#lastEventId = event.id;
    return reviewed;
  }

  /** From now on every write of the loop is refused. */
  fence(): void {
    this.#fenced = true;
  }

  #write(event: Event): Promise<Event> {
    return this.#service.appendEvent({session: this.session, event, ...(this.#epoch !== undefined && {epoch: this.#epoch})});
  }

  /**
   * The store has usually added its own frozen copy of the Event to the record that it was given. One that makes none has added the Event itself;
   * one with a memory elsewhere, or a step that was replayed, has added nothing.
   */
  #record(event: Event): void {
    const {events} = this.session;
    const last = events.at(-1);
    if (last?.id !== event.id) recordEvent(this.session, event);
    else if (!Object.isFrozen(last)) events[events.length - 1] = toStored(event).stored;
  }

  #conflict(event: Event): SessionConflictError {
    if (!this.#unstored.some(({id}) => id === event.id)) this.#unstored.push(event);
    return new SessionConflictError(this.session.id, this.#unstored);
  }
}

function withoutEmptyContent(event: Event): Event {
  if (!event.content || event.content.parts?.some(saysSomething)) return event;
  const {content: _empty, ...rest} = event;
  return rest;
}

function saysSomething(part: Part): boolean {
  return Boolean(part.text) || Object.values(part).some((value) => value !== undefined && value !== '');
}
