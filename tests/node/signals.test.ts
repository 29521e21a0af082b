// A server in a process of its own, which a signal ends: what its client sees, what is stored, how the process ends.
import {spawn, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {createInterface} from 'node:readline';
import {text as textOf} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import {stringifyContent, type Event} from 'sluice';
import {chunks, GeminiServer} from 'sluice/testing';
import {afterEach, beforeEach, describe, expect, test} from 'vitest';
import {RawClient} from './raw-client.ts';

const program = fileURLToPath(new URL('children/serve.ts', import.meta.url));

class Served implements AsyncDisposable {
  readonly child: ChildProcess;
  readonly url: string;
  /** Another listener of the same process. */
  readonly otherUrl: string;
  readonly ended: Promise<[code: number | null, signal: string | null]>;
  readonly stderr: Promise<string>;
  readonly closed: Promise<unknown>;

  private constructor(child: ChildProcess, line: string, stderr: Promise<string>, closed: Promise<unknown>) {
    this.child = child;
    [this.url = '', this.otherUrl = ''] = line.split(' ');
    this.ended = once(child, 'close') as Promise<[number | null, string | null]>;
    this.stderr = stderr;
    this.closed = closed;
  }

  static async start(...args: readonly string[]): Promise<Served> {
    const child = spawn(process.execPath, ['--no-warnings', program, ...args], {stdio: ['ignore', 'pipe', 'pipe']});
    const stderr = textOf(child.stderr);
    const lines = createInterface(child.stdout);
    const [line] = (await once(lines, 'line')) as [string];
    return new Served(child, line, stderr, once(lines, 'line'));
  }

  run(): Promise<Response> {
    const body = {appName: 'app', userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: 'Go.'}]}, streaming: true};
    const headers = {'content-type': 'application/json', accept: 'application/x-ndjson'};
    return fetch(`${this.url}/run_sse`, {method: 'POST', headers, body: JSON.stringify(body)});
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    if (this.child.exitCode === null && this.child.signalCode === null) await this.ended;
  }
}

/** The Events of a stream, one by one. */
async function* eventsOf(response: Response): AsyncGenerator<Event & {error?: string; code?: string}, void> {
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Event;
  }
}

describe('a process that is told to end', () => {
  let folder: string;
  let file: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'sluice-'));
    file = join(folder, 'events');
  });
  afterEach(() => rm(folder, {recursive: true}));

  const stored = async (): Promise<(string | boolean | undefined)[][]> =>
    (await readFile(file, 'utf8'))
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Event)
      .map((event) => [event.author, stringifyContent(event), event.customMetadata?.['stopped'] as boolean | undefined]);

  /** A server whose run has given its first text; `rest` gives the rest. */
  async function midway(
    drainTimeoutMs: string,
    how = '',
  ): Promise<
    {
      served: Served;
      gemini: GeminiServer;
      events: AsyncGenerator<Event & {error?: string; code?: string}, void>;
      rest: (text: string) => void;
    } & AsyncDisposable
  > {
    const rest = Promise.withResolvers<string>();
    const gemini = await GeminiServer.start({replies: [chunks(['one', rest.promise])]});
    const served = await Served.start(gemini.url, file, drainTimeoutMs, how);
    const events = eventsOf(await served.run());
    const {value} = await events.next();
    expect(value && stringifyContent(value)).toBe('one');
    return {
      served,
      gemini,
      events,
      rest: rest.resolve,
      async [Symbol.asyncDispose]() {
        await served[Symbol.asyncDispose]();
        await gemini.close();
      },
    };
  }

  /** The server accepts nothing any more: the drain has begun. */
  async function refusing(url: string): Promise<void> {
    for (let open = true; open;) {
      open = await RawClient.connect(Number(new URL(url).port)).then(
        (client) => (client.leave(), true),
        () => false,
      );
    }
  }

  test.each(['SIGTERM', 'SIGINT'] as const)('by %s in the middle of a run finishes it, refuses others, and ends with 0', async (signal) => {
    await using it = await midway('60000');
    it.served.child.kill(signal);
    await refusing(it.served.url);
    it.rest(' two');
    const rest: Event[] = [];
    for await (const event of it.events) rest.push(event);
    expect(rest.filter(({partial}) => !partial).map(stringifyContent)).toEqual(['one two']);
    expect(await it.served.ended).toEqual([0, null]);
    expect(await it.served.stderr).toBe('');
    expect(await stored()).toEqual([
      ['user', 'Go.', undefined],
      ['root', 'one two', undefined],
    ]);
    expect(it.gemini.requests.map(({closedEarly}) => closedEarly)).toEqual([false]);
  });

  test('stops at the deadline what is left, tells its client, keeps what was said, and ends with 0', async () => {
    await using it = await midway('300');
    it.served.child.kill('SIGTERM');
    const rest = [];
    for await (const event of it.events) rest.push(event);
    expect(rest).toEqual([{error: expect.any(String), code: 'RUNNER_CLOSED'}]);
    expect(await it.served.ended).toEqual([0, null]);
    expect(await stored()).toEqual([
      ['user', 'Go.', undefined],
      ['root', 'one', true],
    ]);
    expect((await it.gemini.requests[0]?.closed)?.early).toBe(true);
  });

  test.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('a second time, by %s, ends at once with %i', async (second, code) => {
    await using it = await midway('60000');
    it.served.child.kill('SIGTERM');
    await refusing(it.served.url);
    it.served.child.kill(second);
    await expect(it.events.next()).rejects.toThrow('terminated');
    expect(await it.served.ended).toEqual([code, null]);
  });

  test('without anything under way ends with 0 at once, though its program holds it', async () => {
    await using gemini = await GeminiServer.start();
    await using served = await Served.start(gemini.url, file, '60000');
    // Connections that wait for a request hold nothing up.
    expect((await fetch(`${served.url}/list-apps`)).status).toBe(200);
    expect((await fetch(`${served.otherUrl}/list-apps`)).status).toBe(200);
    served.child.kill('SIGTERM');
    await served.closed;
    expect(await served.ended).toEqual([0, null]);
  });

  test('whose handler fails to close says so, and ends with 1', async () => {
    await using gemini = await GeminiServer.start();
    await using served = await Served.start(gemini.url, file, '0', 'fails');
    served.child.kill('SIGTERM');
    expect(await served.ended).toEqual([1, null]);
    expect(await served.stderr).toContain('Error: broken');
  });

  test('whose handler never closes ends with 1, five seconds after the deadline', async () => {
    await using gemini = await GeminiServer.start();
    await using served = await Served.start(gemini.url, file, '0', 'hangs');
    served.child.kill('SIGTERM');
    expect(await served.ended).toEqual([1, null]);
  });
});
