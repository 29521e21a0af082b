import {spawn} from 'node:child_process';
import {join} from 'node:path';
import {built, root} from '../package/project.ts';

/** How a program ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** A program that runs: an example, as a user starts it. */
export interface Program extends AsyncDisposable {
  readonly ended: Promise<Ended>;
  /** What its output matches, as soon as it does. Rejects if it ends before. */
  until(pattern: RegExp): Promise<RegExpExecArray>;
  /** Writes to its input. */
  type(text: string): void;
  /** Ends its input. */
  endInput(): void;
  kill(signal: NodeJS.Signals): void;
}

// What a developer's shell may hold, and what would change what an example does.
const UNSET = new Set([
  'GEMINI_API_KEY',
  'GOOGLE_API_KEY',
  'GOOGLE_GENAI_USE_VERTEXAI',
  'GOOGLE_GEMINI_BASE_URL',
  'FORCE_COLOR',
  'NO_COLOR',
  'NODE_OPTIONS',
]);

/** Starts `examples/<name>.ts` on what is built in `dist/`, its input and output piped. */
export function startExample(name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Program {
  built('');
  const inherited = Object.fromEntries(Object.entries(process.env).filter(([key]) => !UNSET.has(key)));
  const child = spawn(process.execPath, [join(root, 'examples', `${name}.ts`), ...args], {
    cwd: root,
    env: {...inherited, ...env},
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  const waiting = new Set<() => void>();
  let [stdout, stderr, over] = ['', '', false];
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    stdout += text;
    for (const look of waiting) look();
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
  const ended = new Promise<Ended>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      over = true;
      resolve({code, stdout, stderr});
      for (const look of waiting) look();
    });
  });
  return {
    ended,
    until: (pattern) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = pattern.exec(stdout);
          if (found) resolve(found);
          else if (over) reject(new Error(`${name} ended before its output had ${pattern}:\n${stdout}\n${stderr}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    type: (text) => child.stdin.write(text),
    endInput: () => child.stdin.end(),
    kill: (signal) => child.kill(signal),
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL');
      await ended;
    },
  };
}

/** Runs an example to its end. */
export async function runExample(name: string, args: readonly string[] = [], env: Readonly<Record<string, string>> = {}): Promise<Ended> {
  await using program = startExample(name, args, env);
  return await program.ended;
}
