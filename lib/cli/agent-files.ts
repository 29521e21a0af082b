import {readdirSync, statSync} from 'node:fs';
import {basename, dirname, extname, join, relative, resolve} from 'node:path';
import {CliError} from './cli-error.ts';

/** A file that should hold an agent. */
export interface AgentFile {
  /** The app's name: that of the file, or of the folder for an `agent.ts` or `index.ts`. */
  readonly name: string;
  /** Its absolute path. */
  readonly file: string;
}

const EXTENSIONS = ['.ts', '.mts', '.cts', '.js', '.mjs', '.cjs'];
/** What the file of an agent is called that has a folder of its own, in ADK's layout. */
const MAIN_NAMES = ['agent', 'index'];

/**
 * The file of one agent, given by itself or by its folder.
 *
 * @throws {@link CliError} where there is none
 */
export function agentFileAt(path: string): AgentFile {
  const target = resolve(path);
  if (kindOf(target, path) === 'folder') {
    const file = mainFileIn(target);
    if (file) return agentFile(file);
    const [other] = agentFilesIn(path);
    const hint = other ? `: name one agent in it, such as ${shownPath(other.file)}` : '';
    throw new CliError(`${path} is a folder without agent.ts or index.ts${hint}`);
  }
  if (!EXTENSIONS.includes(extname(target))) {
    throw new CliError(`${path} is no file of JavaScript or TypeScript (${EXTENSIONS.join(', ')})`);
  }
  return agentFile(target);
}

/**
 * The files of a folder that may hold agents: `*.ts` in it and `agent.ts` or `index.ts` of its folders, sorted by name. A folder that holds
 * an `agent.ts` or `index.ts` itself is that one agent; a file is itself.
 *
 * @throws {@link CliError} where there is nothing at `path`, or two have one name
 */
export function agentFilesAt(path: string): AgentFile[] {
  const target = resolve(path);
  if (kindOf(target, path) === 'file' || mainFileIn(target)) return [agentFileAt(path)];
  const files = agentFilesIn(path);
  const twice = files.find(({name}, at) => files[at + 1]?.name === name);
  if (twice) throw new CliError(`${path} has two agents named ${twice.name}: rename one of them`);
  return files;
}

/** A path as messages show it: from the working directory where it lies below. */
export function shownPath(path: string): string {
  const near = relative(process.cwd(), path);
  return near === '' || near.startsWith('..') ? path : near;
}

function agentFilesIn(path: string): AgentFile[] {
  const folder = resolve(path);
  const files = readdirSync(folder, {withFileTypes: true}).flatMap((entry) => {
    const place = join(folder, entry.name);
    if (/^[._]/.test(entry.name) || entry.name === 'node_modules') return [];
    // A link counts as what it leads to.
    const isFolder = entry.isDirectory() || (entry.isSymbolicLink() && statSync(place, {throwIfNoEntry: false})?.isDirectory());
    const file = isFolder ? mainFileIn(place) : isSource(entry.name) ? place : undefined;
    return file ? [agentFile(file)] : [];
  });
  return files.toSorted((a, b) => (a.name < b.name ? -1 : Number(a.name > b.name)));
}

/** Not a declaration, and not a test that stands next to what it tests. */
function isSource(name: string): boolean {
  return EXTENSIONS.includes(extname(name)) && !/\.(?:d|test|spec|config)\.[cm]?[jt]s$/.test(name);
}

function mainFileIn(folder: string): string | undefined {
  const names = new Set(readdirSync(folder));
  const found = MAIN_NAMES.flatMap((name) => EXTENSIONS.map((extension) => name + extension)).find((name) => names.has(name));
  return found && join(folder, found);
}

function agentFile(file: string): AgentFile {
  const own = basename(file, extname(file));
  return {name: MAIN_NAMES.includes(own) ? basename(dirname(file)) : own, file};
}

function kindOf(target: string, path: string): 'file' | 'folder' {
  const found = statSync(target, {throwIfNoEntry: false});
  if (!found) throw new CliError(`There is no ${path} in ${process.cwd()}`);
  return found.isDirectory() ? 'folder' : 'file';
}
