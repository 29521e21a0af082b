import {InvalidOptionError} from '../errors.ts';
import type {Event} from '../events/event.ts';
import type {Session, SessionKey} from './session.ts';

/** @throws {@link InvalidOptionError} where a part of the key is not a string with something in it */
export function checkSessionKey({appName, userId, sessionId}: SessionKey): void {
  checkName('appName', appName);
  checkName('userId', userId);
  checkName('sessionId', sessionId);
}

/** @throws {@link InvalidOptionError} where `name` is not a string with something in it */
export function checkName(option: string, name: unknown): void {
  if (typeof name !== 'string' || name === '') throw new InvalidOptionError(option, 'a non-empty string', name);
}

/** @throws {@link InvalidOptionError} where `value` is not a record of state keys */
export function checkRecord(option: string, value: unknown): void {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw new InvalidOptionError(option, 'a record of state keys', value);
  }
}

/** @throws {@link InvalidOptionError} where an option cannot be used */
export function checkGetSessionConfig({numRecentEvents, afterTimestamp}: {numRecentEvents?: number; afterTimestamp?: number}): void {
  if (numRecentEvents !== undefined && !(Number.isInteger(numRecentEvents) && numRecentEvents >= 0)) {
    throw new InvalidOptionError('config.numRecentEvents', 'a whole number, 0 or more', numRecentEvents);
  }
  if (afterTimestamp !== undefined && (typeof afterTimestamp !== 'number' || Number.isNaN(afterTimestamp))) {
    throw new InvalidOptionError('config.afterTimestamp', 'a number of milliseconds since 1970', afterTimestamp);
  }
}

/**
 * Checks what every store relies on when it appends: a session record, and the parts of an Event that it reads.
 *
 * @throws {@link InvalidOptionError} where one cannot be used
 */
export function checkAppend(session: Session, event: Event): void {
  if (typeof session !== 'object' || session === null || !Array.isArray(session.events)) {
    throw new InvalidOptionError('session', 'a session that the service gave', session);
  }
  if (typeof event !== 'object' || event === null) throw new InvalidOptionError('event', 'an Event', event);
  checkName('event.id', event.id);
  checkRecord('event.actions.stateDelta', event.actions?.stateDelta);
  if (!Number.isFinite(event.timestamp)) {
    throw new InvalidOptionError('event.timestamp', 'a number of milliseconds since 1970', event.timestamp);
  }
}
