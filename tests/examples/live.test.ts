import {GeminiLiveServer, type LiveScript} from 'sluice/testing';
import {beforeEach, expect, test} from 'vitest';
import {startExample, type Program} from './program.ts';

let server: GeminiLiveServer;
beforeEach(async () => {
  server = await GeminiLiveServer.start({apiKey: 'secret'});
  return () => server.close();
});

const chat = (env: Readonly<Record<string, string>> = {}): Program =>
  startExample('live', [], {GEMINI_API_KEY: 'secret', GOOGLE_GEMINI_BASE_URL: server.url, LIVE_MODEL: 'gemini-live-test', ...env});

/** Replies to each line with the next of these, in fragments of transcripts beside sound. */
const replies =
  (...texts: readonly (readonly string[])[]): LiveScript =>
  async (session) => {
    await session.acknowledge();
    for (const fragments of texts) {
      await session.next('realtimeInput');
      for (const fragment of fragments) {
        session.audio('AAAA');
        session.transcribeOutput(fragment);
      }
      session.completeGeneration();
      session.completeTurn();
    }
  };

test('live sends each line, prints what the model says to it, and ends with its input', async () => {
  server.session(replies(['Good ', 'morning.'], ['Bye.']));
  await using program = chat();
  program.type('Hello\n\n');
  await program.until(/morning\.\n> /);
  program.type('I am off');
  program.endInput();
  expect(await program.ended).toEqual({code: 0, stdout: '> Good morning.\n> Bye.\n> \n', stderr: ''});
  const [session] = server.sessions;
  expect(session?.setup).toMatchObject({model: 'models/gemini-live-test', outputAudioTranscription: {}});
  const sent = session?.received.slice(1).map(({body}) => body);
  expect(sent).toEqual([{realtimeInput: {text: 'Hello'}}, {realtimeInput: {text: 'I am off'}}]);
  expect(await session?.closed).toMatchObject({early: true, code: 1000});
});

test('live marks where the user interrupts', async () => {
  server.session(async (session) => {
    await session.acknowledge();
    await session.next('realtimeInput');
    session.transcribeOutput('Once upon');
    await session.next('realtimeInput');
    session.interrupt();
    session.completeTurn();
    session.transcribeOutput('Stopped.');
    session.completeTurn();
  });
  await using program = chat();
  program.type('Tell me a tale\n');
  await program.until(/Once upon/);
  program.type('Stop\n');
  await program.until(/Stopped\.\n> /);
  program.endInput();
  expect(await program.ended).toEqual({code: 0, stdout: '> Once upon …\n> Stopped.\n> \n', stderr: ''});
});

test('live closes its socket when Ctrl-C stops it, and prints what was kept', async () => {
  server.session(async (session) => {
    await session.acknowledge();
    await session.next('realtimeInput');
    session.audio('AAAA');
    session.transcribeOutput('Once upon');
  });
  await using program = chat();
  program.type('Tell me a tale\n');
  await program.until(/Once upon/);
  program.kill('SIGINT');
  // Its input is still open.
  expect(await program.ended).toEqual({
    code: 130,
    stdout: '> Once upon\n\nStopped. Kept in the session:\n  user: Tell me a tale\n  guide: Once upon [stopped]\n',
    stderr: '',
  });
  expect(await server.sessions[0]?.closed).toMatchObject({early: true});
});

test('live ends on Ctrl-C before anything was said', async () => {
  await using program = chat();
  await server.nextSession();
  program.kill('SIGINT');
  expect(await program.ended).toMatchObject({code: 130, stderr: ''});
  expect(await server.sessions[0]?.closed).toMatchObject({early: true});
});

test.each([
  ['no key', '', 'No API key for the Gemini API'],
  ['a wrong key', 'wrong', 'API key not valid'],
])('live says what is wrong with %s', async (_name, GEMINI_API_KEY, message) => {
  await using program = chat({GEMINI_API_KEY});
  const {code, stderr} = await program.ended;
  expect(code).toBe(1);
  expect(stderr).toContain(message);
  expect(stderr).not.toContain(' at ');
});
