import {spawn, type ChildProcess} from 'node:child_process';
import process from 'node:process';
import {Socket} from 'node:net';
import {Timers} from '../async/timers.ts';
import {within} from '../async/within.ts';
import type {StdioServerParameters} from './connection-params.ts';

/** How long the process may take to end by itself, and then after SIGTERM, in milliseconds. Both fit into a runner's `closeTimeoutMs`. */
const PATIENCE_MS = 250;
/** How long its pipes may stay open when it has ended, in milliseconds: a process that it has started may keep them. */
const DRAIN_MS = 100;
/** How much of its stderr is kept, in characters. */
const LAST_WORDS = 2_000;

/** What a server process is handed of the environment without being given it: nothing that could be a secret. */
const INHERITED =
  'HOME LOGNAME PATH SHELL TERM USER ' +
  'APPDATA HOMEDRIVE HOMEPATH LOCALAPPDATA PATHEXT PROCESSOR_ARCHITECTURE PROGRAMFILES SYSTEMDRIVE SYSTEMROOT TEMP USERNAME USERPROFILE';

/** Those that run, for the case that this process ends without closing them. One listener serves them all. */
const running = new Set<ChildProcess>();
const endAll = (): void => running.forEach((child) => child.kill());

/** Who is told what happens to a process. */
export interface ServerProcessOwner {
  /** @throws to have the process ended */
  received(chunk: Uint8Array): void;
  /** It is gone, and so are its pipes. Told once. */
  gone(): void;
}

/**
 * The process of a server. It holds this process only while {@link hold} says so, ends with it, and is gone when {@link end} has settled,
 * whether it wants or not.
 */
export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #gone = Promise.withResolvers<void>();
  #lastWords = '';
  #failure = '';
  #ended: Promise<void> | undefined;

  constructor({command, args = [], env, cwd, stderr = 'pipe'}: StdioServerParameters, owner: ServerProcessOwner) {
    const inherited = INHERITED.split(' ').flatMap((name): [string, string][] => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    });
    const child = spawn(command, args, {
      env: {...Object.fromEntries(inherited), ...env},
      stdio: ['pipe', 'pipe', stderr],
      windowsHide: true,
      ...(cwd !== undefined && {cwd}),
    });
    this.#child = child;
    if (running.size === 0) process.on('exit', endAll);
    running.add(child);
    // A pipe that breaks says nothing that the end of the process does not.
    for (const pipe of [child.stdin, child.stdout, child.stderr]) pipe?.on('error', () => {});
    child.stdout?.on('data', (chunk: Buffer) => {
      try {
        owner.received(chunk);
      } catch (error) {
        this.#failure = (error as Error).message;
        child.stdout?.removeAllListeners('data').resume();
        void this.end();
      }
    });
    child.stderr?.setEncoding('utf8').on('data', (text: string) => (this.#lastWords = `${this.#lastWords}${text}`.slice(-LAST_WORDS)));
    child.on('error', (error) => (this.#failure ||= error.message));
    // What it has said before is read first.
    child.on('exit', () => setTimeout(() => [child.stdout, child.stderr].forEach((pipe) => pipe?.destroy()), DRAIN_MS).unref());
    child.on('close', () => {
      running.delete(child);
      if (running.size === 0) process.off('exit', endAll);
      this.#gone.resolve();
      owner.gone();
    });
  }

  /** Resolves once the operating system has started it. */
  started(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.once('spawn', resolve).once('error', reject);
    });
  }

  /** Hands it a text. Rejects where the process is gone, or goes before it has read all of it. */
  write(text: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#child.stdin?.write(text, (error) => (error ? reject(error) : resolve()));
    });
  }

  /** Why it has ended, for an error message: with its code, and with the last that it wrote to stderr. */
  get reason(): string {
    const {exitCode, signalCode} = this.#child;
    const end = this.#failure || (signalCode === null ? `it exited with code ${exitCode}` : `it was ended by ${signalCode}`);
    const said = this.#lastWords.trim();
    return said === '' ? end : `${end}; its last words:\n${said}`;
  }

  /** Whether it keeps this process from exiting. */
  hold(holds: boolean): void {
    for (const handle of [this.#child, this.#child.stdin, this.#child.stdout, this.#child.stderr]) {
      if (handle && (handle === this.#child || handle instanceof Socket)) (handle as Socket)[holds ? 'ref' : 'unref']();
    }
  }

  /** Ends it: by the end of its input, then by SIGTERM, then by SIGKILL. */
  end(): Promise<void> {
    return (this.#ended ??= this.#end());
  }

  async #end(): Promise<void> {
    this.hold(true);
    const timers = new Timers();
    timers.hold();
    const isGone = (): Promise<boolean> => within(this.#gone.promise, (callback) => timers.set(PATIENCE_MS, callback));
    this.#child.stdin?.end();
    if (!(await isGone())) this.#child.kill('SIGTERM');
    if (!(await isGone())) this.#child.kill('SIGKILL');
    await isGone();
  }
}
