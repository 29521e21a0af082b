// What people reported about whole processes: memory that grows, listeners that pile up, programs that exit too early or never. Each test
// runs a program of its own.
import {execFile} from 'node:child_process';
import {fileURLToPath} from 'node:url';
import {promisify} from 'node:util';
import {describe, expect, test} from 'vitest';
import {answer, calls, chunks, GeminiServer, type GeminiReplySource} from 'sluice/testing';

/** Runs a program of `children/`, and gives what it printed. */
async function runChild(name: string, args: readonly string[], flags: readonly string[] = []): Promise<string> {
  const program = fileURLToPath(new URL(`children/${name}.ts`, import.meta.url));
  const {stdout} = await promisify(execFile)(process.execPath, ['--no-warnings', ...flags, program, ...args], {timeout: 60_000});
  return stdout.trim();
}

interface Left {
  readonly most: number;
  readonly left: number;
  readonly bytesPerRun: number;
}

describe('a signal that lives as long as the process', () => {
  // nodejs/node#64476
  test(
    'has one listener while a run on it lives and none afterwards, and a thousand runs leave nothing on the heap',
    {timeout: 60_000},
    async () => {
      const {most, left, bytesPerRun} = JSON.parse(await runChild('long-lived-signal', [], ['--expose-gc'])) as Left;
      expect({most, left}).toEqual({most: 1, left: 0});
      // One listener that was forgotten takes some 650 bytes.
      expect(bytesPerRun).toBeLessThan(200);
    },
  );

  test('has none either after runs over HTTP, whose SDK leaves one on every signal that it is given', {timeout: 60_000}, async () => {
    const reply: GeminiReplySource = (request) => (request.body.contents?.length === 1 ? calls([{name: 'tool'}])(request) : answer('done'));
    const replies = Array.from({length: 1_000}, () => reply);
    await using server = await GeminiServer.start({replies});
    expect(JSON.parse(await runChild('long-lived-signal', [server.url], ['--expose-gc']))).toMatchObject({most: 1, left: 0});
  });
});

// vercel/ai#16753
describe('of 50 MB that a run brings its reader', () => {
  const read = async (what: string, megabytes: number, url = ''): Promise<{bytes: number; last: number; samples: number; alive: number}> =>
    JSON.parse(await runChild('fifty-megabytes', [what, url], ['--expose-gc', `--max-old-space-size=${megabytes}`])) as never;

  test('nothing is kept where it is progress: a heap of 32 MB does', {timeout: 60_000}, async () => {
    const {bytes, samples, alive} = await read('progress', 32);
    expect(bytes).toBe(50_000_000);
    expect(samples).toBeGreaterThan(900);
    expect(alive).toBeLessThan(5);
  });

  test('the text is kept for the session, and none of its 50,000 pieces', {timeout: 60_000}, async () => {
    const {bytes, last, samples, alive} = await read('text', 128);
    expect([bytes, last]).toEqual([50_000_000, 50_000_000]);
    expect(samples).toBeGreaterThan(900);
    expect(alive).toBeLessThan(5);
  });

  test('the text is kept once, also when it comes over HTTP', {timeout: 60_000}, async () => {
    const piece = 'x'.repeat(20_000);
    const pieces = (function* () {
      for (let n = 0; n < 2_500; n++) yield piece;
    })();
    await using server = await GeminiServer.start({replies: [chunks(pieces)]});
    expect(await read('wire', 160, server.url)).toMatchObject({bytes: 50_000_000, last: 50_000_000});
  });
});

// adk-java 9b046b6, vercel/ai PR#7982
describe('a process', () => {
  test('lives as long as somebody waits for a run, though nothing but the run holds it', async () => {
    expect(await runChild('exit', ['waiting'])).toBe('RUN_TIMEOUT');
  });

  test('lives until a run that was left is closed', async () => {
    expect(await runChild('exit', ['waiting for a deaf tool'])).toBe('return');
  });

  test.each(['idle', 'never started'])('is not held by a run that nobody reads: %s', async (what) => {
    const started = performance.now();
    await runChild('exit', [what]);
    expect(performance.now() - started).toBeLessThan(15_000);
  });
});
