import {stripVTControlCharacters} from 'node:util';
import {GeminiLiveServer, type LiveScript} from 'sluice/testing';
import {beforeAll, describe, expect, test} from 'vitest';
import {bars, numbers, rowsOf, said, wire} from './live-output.ts';
import {runExample, type Ended} from './program.ts';
import {milliseconds, section} from './sections.ts';

// Where an escape sequence begins.
const ESCAPE = '\u{1b}';
const id = (number: number): string => `function-call-${1_000_000_000_000_000_000n + BigInt(number)}`;

describe('demo-live, piped', () => {
  let demo: Ended;
  beforeAll(async () => {
    demo = await runExample('demo-live');
  }, 60_000);

  test('ends well, by itself and without a warning', () => {
    expect(demo).toMatchObject({code: 0, stderr: ''});
  });

  test('has its five sections in order', () => {
    expect(demo.stdout.match(/^\d {2}.+$/gm)).toEqual([
      '1  Two calls in one message',
      '2  Interrupted while a tool runs',
      '3  One of three calls is taken back',
      '4  The server goes away',
      '5  Stopped in the middle of a speech',
    ]);
  });

  test('shows the Events of a spoken conversation, its transcripts fragment by fragment beside the sound', () => {
    const text = section(demo, 1);
    expect(text).toContain('6 pieces of sound, 7,680 bytes, 240 ms');
    expect(said(text, 'user')).toBe('Is there a ┊table at Luna ┊for eight tonight, ┊and will it ┊stay dry until ┊then?');
    expect(said(text, 'concierge')).toBe(
      '♪40ms ┊Luna has table ┊♪40ms ┊seven for you ┊♪40ms ┊at eight, and ┊♪40ms ┊the night stays ┊♪40ms ┊clear.',
    );
    expect(rowsOf(text)).toEqual([
      'you ● speak “Is there a table at Luna for eight tonight, and will it stay',
      'user · partials Is there a',
      'user ● event the whole transcript, 76 characters',
      'concierge ● event calls find_table, get_weather',
      'concierge ● event ← find_table {restaurant: "Luna", table: 7, time: "20:00"}',
      'concierge · partials ♪40ms',
      'concierge · signal generation complete',
      'concierge ● event turn complete; the whole transcript, 65 characters; 185 tokens',
    ]);
    expect(text).toContain('♪ without its sound: 9,600 bytes, 200 ms');
  });

  test('draws two tools on one axis, which together take hardly longer than one of them', () => {
    const text = section(demo, 1);
    expect(bars(text)).toEqual(['find_table', 'get_weather']);
    const [, together = NaN, first = NaN, second = NaN, sum = NaN] = numbers(
      text,
      /together +(\S+) ms for (\S+) ms and (\S+) ms; one after the other they would take (\S+) ms/,
    );
    expect(together).toBeLessThan(0.75 * sum);
    expect(Math.abs(first + second - sum)).toBeLessThanOrEqual(2);
  });

  test('shows the one message that answers both calls, by their ids, when the slower is done', () => {
    const text = section(demo, 1);
    expect(wire(text)).toEqual(['#1 ← toolCall 2 calls', id(1), id(2), '#1 → toolResponse 2 answers', id(1), id(2)]);
    const took = milliseconds(text, /answered +in one message, (\S+) ms after the calls came/);
    expect(took).toBeGreaterThanOrEqual(milliseconds(text, /together +(\S+) ms/) - 1);
  });

  test('tells what an interruption stops: the tool, its socket, the sound that was not played, and the answer', () => {
    const text = section(demo, 2);
    expect(text).toMatch(/^ {2}order_taxi +[▐█].*╳ +closed after \S+ ms\n +▲ interrupted$/m);
    const [, played = NaN, dropped = NaN] = numbers(text, /sound +played (\S+) bytes, \d+ ms; dropped unread (\S+) bytes/);
    expect(played).toBeGreaterThanOrEqual(4 * 1_920);
    expect(dropped).toBeGreaterThan(0);
    // All 15 pieces of the first turn are either played or dropped.
    expect(played + dropped).toBe(15 * 1_920);
    const [, closed = NaN, after = NaN] = numbers(text, /socket +at the tool service closed after (\S+) ms, (\S+) ms after interrupted/);
    expect(after).toBeLessThan(closed);
    expect(closed).toBeLessThan(1_200);
    expect(milliseconds(text, /signal +of the tool fired (\S+) ms after interrupted/)).toBeLessThanOrEqual(after);
    expect(text).toMatch(/answers sent +0:/);
  });

  test('shows an interruption in its Events and on the wire, and the conversation that goes on', () => {
    const text = section(demo, 2);
    expect(rowsOf(text).filter((row) => row.startsWith('concierge ●'))).toEqual([
      'concierge ● event the whole transcript, 218 characters',
      'concierge ● event interrupted',
      'concierge ● event turn complete',
      'concierge ● event ← order_taxi {error: "cancelled; it may have taken effect", st…',
      'concierge ● event turn complete; the whole transcript, 12 characters; 132 tokens',
    ]);
    expect(text).toContain('┊Eight it is.');
    expect(wire(text)).toEqual([
      '#1 ← toolCall 1 call',
      id(1),
      '#1 ← interrupted {interrupted: true}',
      '#1 ← turnComplete {turnComplete: true}',
      '#1 ← turnComplete {turnComplete: true}',
    ]);
  });

  test('ends exactly the call that the server takes back, and answers the two others', () => {
    const text = section(demo, 3);
    expect(bars(text)).toEqual(['find_table', 'order_taxi ╳', 'get_weather']);
    expect(text.match(/its signal .+$/gm)?.map((told) => told.replace(/[\d.]+ ms/, '# ms'))).toEqual([
      'its signal did not fire',
      'its signal fired # ms after it: “The model no longer wants an answer”',
      'its signal did not fire',
    ]);
    const called = ['#1 ← toolCall 3 calls', id(1), id(2), id(3)];
    const takenBack = ['#1 ← toolCallCancellation 1 id', id(2)];
    const answered = ['#1 → toolResponse 2 answers', id(1), id(3)];
    expect(wire(text)).toEqual([...called, ...takenBack, ...answered]);
    expect(text).toMatch(/← order_taxi \{error: "cancelled; it may have taken effect"/);
    expect(text).toContain('a walk.');
  });

  test('goes on over a second connection when the server goes away, with its handle and without losing a word', () => {
    const text = section(demo, 4);
    const url = /…\S+GenerativeService\.BidiGenerateContent\?key=REDACTED/;
    expect(wire(text).map((row) => row.replace(url, 'URL'))).toEqual([
      '#1 ○ opened URL',
      '#1 → setup sessionResumption: {}, …',
      '#1 ← goAway {timeLeft: "3s"}',
      '#1 ← sessionResumptionUpdate {newHandle: "resume-where-we-were", resumable: true}',
      '#1 ← turnComplete {turnComplete: true}',
      '#1 ╳ closed 1000',
      '#2 ○ opened URL',
      '#2 → setup sessionResumption: {handle: "resume-where-we-were"}, …',
      '#2 ← turnComplete {turnComplete: true}',
      '#2 ╳ closed 1000',
    ]);
    expect(text).toMatch(/heard there +3 of the 3 pieces/);
    expect(text).toMatch(/settled +done: 2 model calls, 325 tokens, nothing left behind/);
    expect(said(text, 'concierge')).toMatch(/The bar stays ┊♪40ms ┊open until two\.$/);
  });

  test('tells what a break in mid-speech closes and keeps', () => {
    const text = section(demo, 5);
    expect(said(text, 'concierge')).toMatch(/♪40ms ╳ break$/);
    expect(text).toContain('nothing was thrown');
    expect(text).toMatch(/settled +return: 2 model calls, nothing left behind/);
    expect(wire(text).map((row) => row.split(' ').slice(0, 3).join(' '))).toEqual(['#1 ○ opened', '#1 ╳ closed']);
    const [, open = NaN, after = NaN] = numbers(text, /as its server saw it: +socket closed after (\S+) ms, (\S+) ms after the stop/);
    expect(after).toBeLessThan(open / 2);
  });

  test('stores a valid session of a stopped speech: transcripts, calls with their responses, and no sound', () => {
    const kept = section(demo, 5).split('The session holds\n')[1] ?? '';
    const events = kept.match(/● .*$/gm)?.map((row) => row.replaceAll(/ +/g, ' '));
    expect(events).toEqual([
      '● user “What can we see in the old town tonight, and how is the weather?”',
      '● concierge get_weather called with {time: "20:00"}',
      '● concierge get_weather ready {time: "20:00", sky: "clear", celsius: 18}',
      expect.stringMatching(/^● concierge stopped “It stays clear, so take the long way/),
    ]);
    expect(kept).toContain('yes: 1 call, 1 response');
    expect(numbers(kept, /sound +over the wire came (\S+) bytes, \d+ ms; 0 bytes are in the session/)[1]).toBeGreaterThanOrEqual(6 * 1_920);
  });

  test('has no colour, no cursor movement and no line over 96 columns', () => {
    expect(demo.stdout).not.toContain(ESCAPE);
    expect(demo.stdout).not.toContain('\r');
    expect(demo.stdout.split('\n').filter((line) => line.length > 96)).toEqual([]);
  });
});

test('demo-live with --live asks the Live API in writing, with its key, and shows two parts', async () => {
  const speech = (text: string): LiveScript => {
    return async (session) => {
      await session.acknowledge();
      await session.next('realtimeInput');
      session.toolCall([{name: 'get_weather', args: {time: 'tonight'}}]);
      await session.next('toolResponse');
      for (const word of text.split(' ')) {
        session.audio('AAAA');
        session.transcribeOutput(`${word} `);
      }
      session.completeGeneration();
      session.completeTurn();
    };
  };
  await using server = await GeminiLiveServer.start({apiKey: 'secret', sessions: [speech('It is clear.'), speech('a b c d e f g h')]});
  const env = {GEMINI_API_KEY: 'secret', GOOGLE_GEMINI_BASE_URL: server.url, FORCE_COLOR: '1'};
  const {code, stdout, stderr} = await runExample('demo-live', ['--live', '--model', 'gemini-live-test'], env);
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  expect(stdout).toContain(ESCAPE);
  const text = stripVTControlCharacters(stdout);
  expect(text.match(/^\d {2}.+$/gm)).toEqual(['1  Two calls in one message', '2  Stopped in the middle of a speech']);
  expect(text).toContain('gemini-live-test on Google’s Live API');
  expect(text).not.toContain('secret');
  const inputs = server.sessions.map(({setup, received}) => [setup?.['model'], ...received.map(({kind}) => kind)]);
  expect(inputs).toEqual(Array.from({length: 2}, () => ['models/gemini-live-test', 'setup', 'realtimeInput', 'toolResponse']));
  const closed = await Promise.all(server.sessions.map((session) => session.closed));
  expect(closed.map(({early}) => early)).toEqual([true, true]);
}, 60_000);

test.each([
  ['--live without a key', ['--live'], {}, '--live needs a key in GEMINI_API_KEY'],
  ['an unknown option', ['--fast'], {}, "Unknown option '--fast'"],
])('demo-live refuses %s', async (_name, args, env, message) => {
  const {code, stdout, stderr} = await runExample('demo-live', args, env);
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toContain(`demo: ${message}`);
});

test('demo-live ends with a message, not with a stack, when the model refuses', async () => {
  await using server = await GeminiLiveServer.start({apiKey: 'secret'});
  const {code, stderr} = await runExample('demo-live', ['--live'], {GEMINI_API_KEY: 'wrong', GOOGLE_GEMINI_BASE_URL: server.url});
  expect(code).toBe(1);
  expect(stderr).toMatch(/^demo: .*API key not valid/);
  expect(stderr).not.toContain(' at ');
});

test('demo-live has a help', async () => {
  const {code, stdout} = await runExample('demo-live', ['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: node examples\/demo-live\.ts[\s\S]+--live/);
});
