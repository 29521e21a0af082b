import {stripVTControlCharacters} from 'node:util';
import {GeminiServer} from 'sluice/testing';
import {beforeAll, describe, expect, test} from 'vitest';
import {longReply, shortReply, travelReplies} from '../../examples/demo/travel-model.ts';
import {runExample, type Ended} from './program.ts';
import {milliseconds, section} from './sections.ts';

// Where an escape sequence begins.
const ESCAPE = '\u{1b}';

describe('demo, piped', () => {
  let demo: Ended;
  beforeAll(async () => {
    demo = await runExample('demo');
  }, 60_000);

  test('ends well, by itself and without a warning', () => {
    expect(demo).toMatchObject({code: 0, stderr: ''});
  });

  test('has its five sections in order', () => {
    expect(demo.stdout.match(/^\d {2}.+$/gm)).toEqual([
      '1  The Events of a run, as they stream',
      '2  The tools, one after the other and together',
      '3  Stopped in the middle of its tools',
      '4  Stopped in the middle of the model’s stream',
      '5  Tools that block, on the event loop and on worker threads',
    ]);
  });

  test('shows partial Events and whole ones', () => {
    const shown = [...section(demo, 1).matchAll(/ms {2}(\w+) +([●·]) (\w+)/g)].map(([, ...words]) => words.join(' '));
    expect(shown).toEqual([
      'you ● message',
      'travel · thought',
      'travel · partial',
      'travel · partial',
      'travel · partial',
      'travel ● event',
      'travel ● event',
      'travel · partials',
      'travel ● event',
    ]);
    // One mark between two of the nine pieces of the text.
    expect(section(demo, 1).match(/┊/g)?.length).toBeGreaterThan(3);
  });

  test('draws three bars per mode, and parallel tools take at most half of the time', () => {
    const [text] = [section(demo, 2)];
    expect(text.match(/^ {2}(?:get_weather|search_hotels|search_flights) +[▐█].* → [\d,]+ ms$/gm)).toHaveLength(6);
    expect(milliseconds(text, /SEQUENTIAL +([\d,]+) ms/)).toBeGreaterThanOrEqual(2 * milliseconds(text, /PARALLEL +([\d,]+) ms/));
    expect(text).toContain('get_weather, search_hotels, search_flights: always in call order');
  });

  test('tells which sockets a stop among the tools has closed, and the session it leaves', () => {
    const text = section(demo, 3);
    expect(text).toContain('rejected with the signal’s own reason');
    expect(text).toMatch(/settled +abort: 1 model call/);
    expect(text).toMatch(/listeners +0 left/);
    expect(text).toMatch(/tool \/hotels +answered in \d+ ms/);
    expect(text).toMatch(/tool \/flights +socket closed after [\d.]+ ms, [\d.]+ ms after the stop/);
    expect(text).toMatch(/search_hotels +ready \{city: "Shanghai"/);
    expect(text).toMatch(/search_flights +cancelled; it may have taken effect/);
    expect(text).toContain('yes: 3 calls, 3 responses, in call order');
    expect(text).toContain('The Riverside, then');
  });

  test('tells which socket a break in the stream has closed, and the text it keeps', () => {
    const text = section(demo, 4);
    expect(text).toContain('nothing was thrown');
    expect(text).toMatch(/settled +return: 1 model call/);
    expect(text).toMatch(/streamGenerateContent +socket closed after [\d.]+ ms, [\d.]+ ms after the stop/);
    expect(text).toMatch(/stopped “Shanghai lies where/);
  });

  test('shows that blocking bodies overlap on threads, with the event loop free', () => {
    const text = section(demo, 5);
    expect(text.match(/^ {2}look_(?:north|east|west) +[▐█].* → [\d,]+ ms$/gm)).toHaveLength(6);
    const [here, there] = [/PARALLEL +([\d,]+) ms/, /PARALLEL_SUBSCRIBE +([\d,]+) ms/].map((pattern) => milliseconds(text, pattern));
    expect(here).toBeGreaterThanOrEqual(1_190);
    expect(there).toBeLessThan(800);
    expect(milliseconds(text, /PARALLEL .*late by up to ([\d,]+) ms/)).toBeGreaterThan(1_000);
    expect(milliseconds(text, /PARALLEL_SUBSCRIBE .*late by up to ([\d,.]+) ms/)).toBeLessThan(200);
    expect(text).toMatch(/LOOP_BLOCKED +`look_north` blocked the event loop/);
  });

  test('has no colour, no cursor movement and no line over 96 columns', () => {
    expect(demo.stdout).not.toContain(ESCAPE);
    expect(demo.stdout).not.toContain('\r');
    expect(demo.stdout.split('\n').filter((line) => line.length > 96)).toEqual([]);
  });
});

test('demo with --live asks the API with its key, and closes its sockets there', async () => {
  const replies = [...travelReplies(), ...travelReplies(), ...travelReplies().slice(0, 1), shortReply(), longReply()];
  await using server = await GeminiServer.start({apiKey: 'secret', replies});
  const env = {GEMINI_API_KEY: 'secret', GOOGLE_GEMINI_BASE_URL: server.url, FORCE_COLOR: '1'};
  const {code, stdout, stderr} = await runExample('demo', ['--live', '--model', 'gemini-2.5-flash'], env);
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  expect(stdout).toContain(ESCAPE);
  expect(stripVTControlCharacters(stdout)).toContain('gemini-2.5-flash on Google’s Gemini API');
  expect(server.requests.map(({model, refusal}) => [model, refusal])).toEqual(
    Array.from({length: 7}, () => ['gemini-2.5-flash', undefined]),
  );
  expect(server.requests.map(({closedEarly}) => closedEarly)).toEqual([false, false, false, false, false, false, true]);
}, 60_000);

test.each([
  ['--live without a key', ['--live'], {}, '--live needs a key in GEMINI_API_KEY'],
  ['an unknown option', ['--fast'], {}, "Unknown option '--fast'"],
])('demo refuses %s', async (_name, args, env, message) => {
  const {code, stdout, stderr} = await runExample('demo', args, env);
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toContain(`demo: ${message}`);
});

test('demo ends with a message, not with a stack, when the model refuses', async () => {
  await using server = await GeminiServer.start({apiKey: 'secret'});
  const {code, stderr} = await runExample('demo', ['--live'], {GEMINI_API_KEY: 'wrong', GOOGLE_GEMINI_BASE_URL: server.url});
  expect(code).toBe(1);
  expect(stderr).toMatch(/^demo: .*API key not valid/);
  expect(stderr).not.toContain(' at ');
});

test('demo has a help', async () => {
  const {code, stdout} = await runExample('demo', ['--help']);
  expect(code).toBe(0);
  expect(stdout).toMatch(/^Usage: node examples\/demo\.ts[\s\S]+--live/);
});
