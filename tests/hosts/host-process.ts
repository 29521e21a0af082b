import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {text as textOf} from 'node:stream/consumers';
import {root} from '../package/project.ts';

const bin = (name: string): string => join(root, 'node_modules/.bin', name);

/** A runtime beside Node, and how it runs a program that may not load anything from elsewhere. */
export interface Runtime {
  readonly name: 'bun' | 'deno';
  readonly command: string;
  readonly args: readonly string[];
}

export const runtimes: readonly Runtime[] = [
  {name: 'bun', command: bin('bun'), args: ['run', '--no-install']},
  {
    name: 'deno',
    command: bin('deno'),
    args: [
      'run',
      '--no-prompt',
      '--cached-only',
      '--no-lock',
      '--node-modules-dir=manual',
      '--allow-net=127.0.0.1',
      '--allow-env',
      '--allow-read',
      '--allow-sys',
    ],
  },
];

/** A program on a runtime. */
export class HostProcess implements AsyncDisposable {
  readonly #child: ChildProcess;
  readonly #ended: Promise<[code: number | null, signal: string | null]>;
  readonly #lines: AsyncIterator<string>;
  readonly stderr: Promise<string>;

  constructor({command, args}: Runtime, folder: string, program: string, ...rest: readonly string[]) {
    const child = spawn(command, [...args, program, ...rest], {
      cwd: folder,
      env: {...process.env, NO_COLOR: '1', DENO_NO_UPDATE_CHECK: '1', DO_NOT_TRACK: '1'},
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#child = child;
    this.#ended = once(child, 'close') as Promise<[number | null, string | null]>;
    this.stderr = textOf(child.stderr);
    this.#lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  }

  /** The next line that it prints. Rejects with its errors when it ends before. */
  async line(): Promise<string> {
    const {done, value} = await this.#lines.next();
    if (done) throw new Error(`The program has ended:\n${await this.stderr}`);
    return value;
  }

  /** All that it still prints, once it has ended. */
  async rest(): Promise<{readonly lines: readonly string[]; readonly code: number | null}> {
    const lines: string[] = [];
    for (let next = await this.#lines.next(); !next.done; next = await this.#lines.next()) lines.push(next.value);
    return {lines, code: (await this.#ended)[0]};
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.kill('SIGKILL');
    await this.#ended;
  }
}
