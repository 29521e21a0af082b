import {answer, chunks, GeminiServer} from 'sluice/testing';
import {expect, test} from 'vitest';
import {runExample, startExample} from './program.ts';

test('for-await prints what was kept when Ctrl-C stops its scripted model', async () => {
  await using program = startExample('for-await', ['What', 'now?']);
  await program.until(/Sunlight holds all/);
  program.kill('SIGINT');
  const {code, stdout, stderr} = await program.ended;
  expect(code).toBe(130);
  expect(stderr).toContain('GEMINI_API_KEY is not set: a scripted model answers');
  const [said = '', kept] = stdout.split('\n\nStopped (abort, 0 tokens). Kept in the session:\n');
  expect(kept).toBe(`  user: What now?\n  guide: ${said}[stopped]\n`);
});

test('for-await closes the socket to Gemini when Ctrl-C stops it', async () => {
  await using server = await GeminiServer.start();
  server.reply(chunks(['The sky ', 'is blue'], {fault: {kind: 'stall', after: 1}}));
  await using program = startExample('for-await', [], {GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: server.url});
  await program.until(/The sky/);
  program.kill('SIGINT');
  expect((await program.ended).stdout).toBe(
    'The sky \n\nStopped (abort, 12 tokens). Kept in the session:\n  user: Why is the sky blue?\n  guide: The sky [stopped]\n',
  );
  expect((await server.requests[0]?.closed)?.early).toBe(true);
});

test('for-await streams an answer of Gemini to its end', async () => {
  await using server = await GeminiServer.start();
  server.reply(answer('Because of the air.'));
  const ended = await runExample('for-await', ['Why?'], {GEMINI_API_KEY: 'test', GOOGLE_GEMINI_BASE_URL: server.url});
  expect(ended).toEqual({code: 0, stdout: 'Because of the air.\n', stderr: ''});
  expect(server.requests[0]?.body.contents).toEqual([{role: 'user', parts: [{text: 'Why?'}]}]);
});
