import {createHash} from 'node:crypto';
import {join} from 'node:path';
import {type ArtifactScope, USER_PREFIX} from '../artifacts/base-artifact-service.ts';

/** The folder of what belongs to a user, over all sessions: `app-demo/user-ada` below the root. */
export function userFolder(root: string, {appName, userId}: ArtifactScope): string {
  return join(root, segment('app-', appName), segment('user-', userId));
}

/** The folder of what belongs to one session: `app-demo/user-ada/session-s` below the root. */
export function sessionFolder(root: string, scope: ArtifactScope): string {
  return join(userFolder(root, scope), segment('session-', scope.sessionId));
}

/** The folder of one file, which holds a folder per version: `.../file-chart.png`. */
export function fileFolder(root: string, file: ArtifactScope & {readonly filename: string}): string {
  const {filename} = file;
  return filename.startsWith(USER_PREFIX)
    ? join(userFolder(root, file), segment(FILE_PREFIX, filename.slice(USER_PREFIX.length)))
    : join(sessionFolder(root, file), segment(FILE_PREFIX, filename));
}

/** What the folder of a file begins with, unlike the others that stand beside it. */
export const FILE_PREFIX = 'file-';

// With four digits each, and its prefix, such a name stays below the 255 bytes that file systems allow.
const MAX_LENGTH = 160;

/**
 * A name as one segment of a path, for any name and any file system. Lower case, digits, `_`, `.` and `-` stay, everything else is `%` and the
 * four digits of its UTF-16 code unit: no separator and no NUL is left, `a` and `A` differ where a file system ignores case, and so do the
 * two spellings of `é` where it normalises them. The prefix keeps names away that mean something else, such as `..` and `con`.
 */
function segment(prefix: string, name: string): string {
  // Windows drops a dot at the end.
  const encoded = name.replaceAll(/[^a-z0-9_.-]|\.$/g, (unit) => `%${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
  if (encoded.length <= MAX_LENGTH) return prefix + encoded;
  // `%~` stands in no encoded name, so that no short name is the same as a long one.
  return `${prefix}${encoded.slice(0, 40)}%~${createHash('sha256').update(encoded).digest('hex')}`;
}
