import {spawn} from 'node:child_process';
import {once} from 'node:events';
import {existsSync} from 'node:fs';
import {mkdir, mkdtemp, rm, writeFile} from 'node:fs/promises';
import {dirname, join} from 'node:path';
import type {Event} from 'sluice';
import {root} from '../package/project.ts';

/** How the program ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `sluice` as a user starts it, with pipes for its input and output. */
export interface Program extends AsyncDisposable {
  readonly ended: Promise<Ended>;
  /** What the output of a stream matches, as soon as it does. Rejects if the program ends before. */
  until(pattern: RegExp, stream?: 'stdout' | 'stderr'): Promise<RegExpExecArray>;
  /** Writes a line to its input. */
  type(line: string): void;
  /** Writes keys to its input. */
  press(keys: string): void;
  endInput(): void;
  /** Closes its output, as `head` does. */
  leave(): void;
  /** Stops reading its output until it has ended, as a pager does. */
  stall(): void;
  kill(signal: NodeJS.Signals): void;
}

export interface StartOptions {
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly nodeArgs?: readonly string[];
  /** Whether it runs at a terminal, which `script` of util-linux makes: all that the terminal shows is on stdout then. */
  readonly terminal?: boolean;
}

const BIN = join(root, 'dist/cli/main.js');
// What a developer's shell may hold, and what would change what is printed.
const UNSET = new Set(['FORCE_COLOR', 'NO_COLOR', 'NODE_OPTIONS', 'GEMINI_API_KEY']);

/** Starts what is built in `dist/`. */
export function start(args: readonly string[], {cwd = root, env = {}, nodeArgs = [], terminal = false}: StartOptions = {}): Program {
  if (!existsSync(BIN)) throw new Error('dist/cli/main.js is missing: run `npm run build` first');
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([key]) => !UNSET.has(key)));
  const command = [process.execPath, ...nodeArgs, BIN, ...args];
  const [file = '', ...given] = terminal
    ? ['script', '-qec', command.map((word) => `'${word}'`).join(' '), '-E', 'always', '/dev/null']
    : command;
  const child = spawn(file, given, {cwd, env: {...inherited, ...env}, stdio: ['pipe', 'pipe', 'pipe']});
  const output = {stdout: '', stderr: ''};
  const waiting = new Set<() => void>();
  let over = false;
  for (const name of ['stdout', 'stderr'] as const) {
    child[name].setEncoding('utf8').on('data', (text: string) => {
      output[name] += text;
      for (const look of waiting) look();
    });
  }
  // A program that has ended takes no input.
  child.stdin.on('error', () => {});
  const ended = once(child, 'close').then(([code]): Ended => {
    over = true;
    for (const look of waiting) look();
    return {code: code as number | null, ...output};
  });
  return {
    ended,
    until: (pattern, stream = 'stdout') =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(output[stream]);
          if (found) resolve(found);
          else if (over) reject(new Error(`It ended before its ${stream} had ${pattern}:\n${output.stdout}\n${output.stderr}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    type: (line) => child.stdin.write(`${line}\n`),
    press: (keys) => child.stdin.write(keys),
    endInput: () => child.stdin.end(),
    leave: () => child.stdout.destroy(),
    stall: () => {
      child.stdout.pause();
      // What it has written before is still to be had.
      child.once('exit', () => child.stdout.resume());
    },
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs it to its end, with these lines as its whole input. */
export async function sluice(args: readonly string[], lines: readonly string[] = [], options?: StartOptions): Promise<Ended> {
  await using program = start(args, options);
  for (const line of lines) program.type(line);
  program.endInput();
  return await program.ended;
}

/** The Events of `--json`. Fails where anything else stands between them. */
export function eventsOf(stdout: string): Event[] {
  return stdout
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Event);
}

/** A folder of files for one test, inside the project so that `sluice` resolves there. */
export async function folderOf(files: Readonly<Record<string, string>>): Promise<AsyncDisposable & {readonly path: string}> {
  const path = await mkdtemp(join(root, '.cli-'));
  for (const [name, text] of Object.entries(files)) {
    await mkdir(dirname(join(path, name)), {recursive: true});
    await writeFile(join(path, name), text);
  }
  return {path, [Symbol.asyncDispose]: () => rm(path, {recursive: true, force: true})};
}
