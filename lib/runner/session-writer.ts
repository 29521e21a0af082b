import {RunCancelledError, SessionConflictError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {frozenCopy} from '../schema/json-copy.ts';
import {recordEvent, type BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session} from '../sessions/session.ts';
import type {Steps} from '../steps/steps.ts';

/** The one place where a run writes to its session. It can be fenced: afterwards nothing that the run left behind can write. */
export class SessionWriter {
  readonly #service: BaseSessionService;
  /** The run's view of the session. */
  readonly session: Session;
  readonly #epoch: number | undefined;
  readonly #unstored: Event[] = [];
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
   * Stores an Event and adds it to the run's view of the session. One frozen copy serves both, so that whoever gets the Event afterwards
   * may change it.
   *
   * @throws {@link SessionConflictError} where a later run took the session over; it holds every Event refused so far, this one included
   */
  async append(event: Event, steps: Steps): Promise<void> {
    if (this.#fenced) throw new RunCancelledError('The run has ended; nothing more is stored');
    const stored = frozenCopy(withoutEmptyContent(event));
    if (this.#unstored.length > 0) throw this.#conflict(stored);
    this.#inFlight++;
    try {
      await steps.step(`append ${event.id}`, () => this.#write(stored));
    } catch (error) {
      throw error instanceof SessionConflictError ? this.#conflict(stored) : error;
    } finally {
      this.#inFlight--;
    }
    // A store with a memory of its own leaves this record alone, and a replayed step has not written at all.
    recordEvent(this.session, stored);
    this.#lastEventId = stored.id;
  }

  /** From now on every write is refused. */
  fence(): void {
    this.#fenced = true;
  }

  async #write(event: Event): Promise<void> {
    await this.#service.appendEvent({session: this.session, event, ...(this.#epoch !== undefined && {epoch: this.#epoch})});
  }

  #conflict(event: Event): SessionConflictError {
    this.#unstored.push(event);
    return new SessionConflictError(this.session.id, this.#unstored);
  }
}

function withoutEmptyContent(event: Event): Event {
  if (!event.content || event.content.parts?.some((part) => Object.values(part).some((value) => value !== undefined && value !== ''))) return event;
  const {content: _empty, ...rest} = event;
  return rest;
}
