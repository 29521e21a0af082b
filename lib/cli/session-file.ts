import {existsSync} from 'node:fs';
import {readFile, rename, rm, writeFile} from 'node:fs/promises';
import {messageOf} from '../errors.ts';
import type {Event} from '../events/event.ts';
import {isRecord} from '../schema/is-record.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {SessionKey} from '../sessions/session.ts';
import {CliError} from './cli-error.ts';

/**
 * Says before a conversation, and not after it, that it cannot be kept.
 *
 * @throws {@link CliError} where the file cannot be written
 */
export async function expectWritable(file: string): Promise<void> {
  await orCannotKeep(file, async () => {
    await writeFile(unfinished(file), '');
    await rm(unfinished(file));
  });
}

/**
 * Puts the session of a file into a store, under a key. Without a file there is nothing to do.
 *
 * @returns whether there was one
 * @throws {@link CliError} where the file holds none
 */
export async function readSession(file: string, service: BaseSessionService, key: SessionKey): Promise<boolean> {
  if (!existsSync(file)) return false;
  try {
    const stored: unknown = JSON.parse(await readFile(file, 'utf8'));
    if (!isRecord(stored) || !isRecord(stored['state']) || !Array.isArray(stored['events'])) {
      throw new CliError('expected {"state": {...}, "events": [...]}');
    }
    const session = await service.createSession({...key, state: stored['state']});
    for (const event of stored['events'] as Event[]) await service.appendEvent({session, event});
    return true;
  } catch (error) {
    throw new CliError(`${file} does not hold a session: ${messageOf(error)}`, {cause: error});
  }
}

/**
 * Writes a session to a file: whole, or not at all.
 *
 * @throws {@link CliError} where it cannot be written
 */
export async function writeSession(file: string, service: BaseSessionService, key: SessionKey): Promise<void> {
  const session = await service.getSession(key);
  await orCannotKeep(file, async () => {
    await writeFile(unfinished(file), `${JSON.stringify(session, undefined, 2)}\n`);
    await rename(unfinished(file), file);
  });
}

/** Where a session stands until it is whole. */
function unfinished(file: string): string {
  return `${file}.${process.pid}.tmp`;
}

async function orCannotKeep(file: string, write: () => Promise<void>): Promise<void> {
  try {
    await write();
  } catch (error) {
    throw new CliError(`Cannot keep the session in ${file}: ${messageOf(error)}`, {cause: error});
  }
}
