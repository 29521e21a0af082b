import {execFile, type ExecFileOptions} from 'node:child_process';
import {existsSync, globSync, readFileSync} from 'node:fs';
import {delimiter, dirname, join, posix} from 'node:path';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';

/** The folder of `package.json`. */
export const root: string = fileURLToPath(new URL('../../', import.meta.url));

/** The text of a file of the project. */
export function read(file: string): string {
  return readFileSync(join(root, file), 'utf8');
}

/** Files of the project that match, sorted, with `/` between their folders. */
export function list(...patterns: string[]): string[] {
  return globSync(patterns, {cwd: root})
    .map((file) => file.replaceAll('\\', '/'))
    .toSorted();
}

export interface Manifest {
  readonly files: string[];
  readonly exports: Record<string, string | Record<string, string>>;
}

export function manifest(): Manifest {
  return JSON.parse(read('package.json')) as Manifest;
}

/** Every published entry: `''` for the core, `gemini` for `sluice/gemini`. */
export function entries(): string[] {
  return list('lib/index.ts', 'lib/*/index.ts')
    .map((file) => posix.dirname(posix.relative('lib', file)).replace('.', ''))
    .toSorted();
}

/** What a user imports: `sluice`, `sluice/gemini`. */
export function specifier(entry: string): string {
  return posix.join('sluice', entry);
}

/** The list of exports of an entry, in the sources. */
export function indexOf(entry: string): string {
  return posix.join('lib', entry, 'index.ts');
}

/** The built file of an entry. Fails where `dist/` is missing. */
export function built(entry: string, extension: 'js' | 'd.ts' = 'js'): string {
  const file = posix.join('dist', entry, `index.${extension}`);
  if (!existsSync(join(root, file))) throw new Error(`${file} is missing: run \`npm run build\` first`);
  return file;
}

export interface SourceImport {
  readonly specifier: string;
  readonly kind: 'type' | 'value' | 'lazy';
}

/** What a source file imports or re-exports; comments are left out. */
export function importsOf(file: string): SourceImport[] {
  const code = read(file)
    .replaceAll(/(^|\s)\/\*[\s\S]*?\*\//g, '$1')
    .replaceAll(/(^|\s)\/\/.*$/gm, '$1');
  const found: SourceImport[] = [];
  for (const [, clause = '', specifier = ''] of code.matchAll(/^(?:im|ex)port\s([^'";]*?\bfrom\s*)?['"]([^'"]+)['"]/gm)) {
    found.push({specifier, kind: isTypeOnly(clause) ? 'type' : 'value'});
  }
  for (const [, query, specifier = '', member] of code.matchAll(/(\btypeof )?\bimport\(\s*['"]([^'"]+)['"]\s*\)(\.[A-Z])?/g)) {
    found.push({specifier, kind: (query ?? member) === undefined ? 'lazy' : 'type'});
  }
  return found;
}

function isTypeOnly(clause: string): boolean {
  if (/^type\b/.test(clause)) return true;
  const names = /^\{([^}]*)\}/
    .exec(clause)?.[1]
    ?.split(',')
    .filter((name) => name.trim() !== '');
  return names !== undefined && names.length > 0 && names.every((name) => /^\s*type\s/.test(name));
}

/** Runs a program, Node's own version first in its path, and gives its whole output. Rejects with that output when it fails. */
export async function run(program: string, args: readonly string[], options: ExecFileOptions = {}): Promise<string> {
  const path = [dirname(process.execPath), join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter);
  try {
    const {stdout, stderr} = await promisify(execFile)(program, args, {
      cwd: root,
      maxBuffer: 64 * 1024 * 1024,
      timeout: 150_000,
      ...options,
      env: {...process.env, ...options.env, PATH: path},
    });
    return `${String(stdout)}${String(stderr)}`;
  } catch (error) {
    const {stdout, stderr} = error as {stdout?: unknown; stderr?: unknown};
    throw new Error(`${program} ${args.join(' ')} failed:\n${String(stdout)}\n${String(stderr)}`, {cause: error});
  }
}
