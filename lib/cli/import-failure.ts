import {fileURLToPath} from 'node:url';
import {messageOf} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {shownPath} from './agent-files.ts';
import {CliError} from './cli-error.ts';
import {stackOf} from './stack.ts';

/** Why a module could not be loaded. An error of its own code keeps its stack: its developer is who reads it. */
export function importFailure(file: string, error: unknown): CliError {
  return new CliError(`Cannot load ${shownPath(file)}: ${reasonOf(error)}`, {cause: error});
}

/** A module that waits, with nothing left that could end its wait. */
export function neverLoaded(file: string): CliError {
  return new CliError(
    `Cannot load ${shownPath(file)}: it, or a module that it imports, awaits something at its top level that never settles`,
  );
}

function reasonOf(error: unknown): string {
  switch (isRecord(error) ? error['code'] : undefined) {
    case 'ERR_UNKNOWN_FILE_EXTENSION':
      return `${messageOf(error)}. ${NO_TYPESCRIPT}`;
    case 'ERR_UNSUPPORTED_TYPESCRIPT_SYNTAX':
      return `${excerptOf(error)}\n${NOT_ERASABLE}`;
    case 'ERR_UNSUPPORTED_NODE_MODULES_TYPE_STRIPPING':
      return `${messageOf(error)}. A package has to bring JavaScript.`;
    case 'ERR_MODULE_NOT_FOUND':
      return `${messageOf(error)}${hintFor(messageOf(error))}`;
    default:
      return error instanceof SyntaxError ? excerptOf(error) : stackOf(error);
  }
}

const NO_TYPESCRIPT =
  `Node ${process.versions.node} does not run TypeScript by itself: use Node 22.18 or newer, ` +
  'or load a compiler (`npm install tsx`, then NODE_OPTIONS="--import tsx").';

const NOT_ERASABLE =
  'Node runs TypeScript by erasing its types; enums, namespaces and parameter properties are code. ' +
  'Write them otherwise, or load a compiler (`npm install tsx`, then NODE_OPTIONS="--import tsx").';

function hintFor(message: string): string {
  const [, name] = /Cannot find package '([^']+)'/.exec(message) ?? [];
  if (name !== undefined) return ` (npm install ${name})`;
  // The commonest slip where types are erased: nothing maps './tools' or './tools.js' to a file.
  return /Cannot find module '[^']*(?:\.js|\/[^./']+)'/.test(message) ? ' (an import names its file whole: `./tools.ts`)' : '';
}

/** Where the code is wrong and why, as Node shows it, without the path through Node that led there. */
function excerptOf(error: unknown): string {
  const [excerpt = ''] = stackOf(error).split(/\n\s+at /);
  return excerpt.replace(/^file:\S+?(?=:\d+\n)/, (url) => shownPath(fileURLToPath(url)));
}
