/**
 * The ids that Sluice gives to function calls. A server may give a call no id, or the same id twice, while a session needs one unique id
 * for each call; but a server must get back exactly the id that it gave. So the id itself remembers what the server said.
 */

// `adk-`, 36 characters of UUID, and where the server gave an id that was taken already, a colon and that id.
const own = /^adk-[0-9a-fA-F-]{36}(?::(.*))?$/s;

/**
 * A new id for a function call.
 *
 * @param uuid - a fresh UUID of 36 characters
 * @param serverId - the id that the server gave, if it gave one that is taken already
 */
export function newCallId(uuid: string, serverId?: string): string {
  return serverId === undefined ? `adk-${uuid}` : `adk-${uuid}:${serverId}`;
}

/** What the server knows the call by: the id that it gave itself, or nothing where it gave none. */
export function wireCallId(id: string): string | undefined {
  const match = own.exec(id);
  return match === null ? id : match[1];
}
