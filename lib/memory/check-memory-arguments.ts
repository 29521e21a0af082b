import {expectOption} from '../errors.ts';
import type {Session} from '../sessions/session.ts';
import {isName, isObject, isString} from '../schema/options.ts';
import type {SearchMemoryRequest} from './base-memory-service.ts';

/** @throws {@link InvalidOptionError} where it is no session */
export function checkRemembered(session: Session): void {
  const isSession = isObject.accepts(session) && Array.isArray(session.events);
  expectOption(isSession, 'session', 'a session that a session service gave', session);
  const {id, appName, userId} = session;
  checkNames({'session.id': id, 'session.appName': appName, 'session.userId': userId});
}

/** @throws {@link InvalidOptionError} where a part of the request cannot be used */
export function checkSearch({appName, userId, query}: SearchMemoryRequest): void {
  checkNames({appName, userId});
  expectOption(isString.accepts(query), 'query', isString.expected, query);
}

function checkNames(names: Readonly<Record<string, unknown>>): void {
  for (const [option, name] of Object.entries(names)) expectOption(isName.accepts(name), option, isName.expected, name);
}
