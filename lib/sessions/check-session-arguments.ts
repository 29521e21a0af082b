import {expectOption} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {isRecord} from '../schema/is-record.ts';
import {isNumber} from '../schema/options.ts';
import type {Session, SessionKey} from './session.ts';

/** @throws {@link InvalidOptionError} where a part of the key is not a string with something in it */
export function checkSessionKey({appName, userId, sessionId}: SessionKey): void {
  checkName('appName', appName);
  checkName('userId', userId);
  checkName('sessionId', sessionId);
}

/** @throws {@link InvalidOptionError} where `name` is not a string with something in it */
export function checkName(option: string, name: unknown): void {
  expectOption(typeof name === 'string' && name !== '', option, 'a non-empty string', name);
}

/** @throws {@link InvalidOptionError} where `value` is not a record of state keys */
export function checkRecord(option: string, value: unknown): void {
  expectOption(isRecord(value), option, 'a record of state keys', value);
}

/** @throws {@link InvalidOptionError} where an option cannot be used */
export function checkGetSessionConfig({
  numRecentEvents = 0,
  afterTimestamp = 0,
}: {
  numRecentEvents?: number;
  afterTimestamp?: number;
}): void {
  const isCount = Number.isInteger(numRecentEvents) && numRecentEvents >= 0;
  expectOption(isCount, 'config.numRecentEvents', 'a whole number, 0 or more', numRecentEvents);
  expectOption(isNumber.accepts(afterTimestamp), 'config.afterTimestamp', A_TIME, afterTimestamp);
}

/**
 * Checks what every store relies on when it appends: a session record, and the parts of an Event that it reads.
 *
 * @throws {@link InvalidOptionError} where one cannot be used
 */
export function checkAppend(session: Session, event: Event): void {
  expectOption(isRecord(session) && Array.isArray(session.events), 'session', 'a session that the service gave', session);
  expectOption(isRecord(event), 'event', 'an Event', event);
  checkName('event.id', event.id);
  checkRecord('event.actions.stateDelta', event.actions?.stateDelta);
  expectOption(Number.isFinite(event.timestamp), 'event.timestamp', A_TIME, event.timestamp);
}

const A_TIME = 'a number of milliseconds since 1970';
