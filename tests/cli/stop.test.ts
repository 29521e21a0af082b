import {readFile} from 'node:fs/promises';
import {join} from 'node:path';
import type {Session} from 'sluice';
import {expect, test} from 'vitest';
import {eventsOf, folderOf, start, type Program} from './sluice.ts';

const PUPPET = 'tests/cli/agents/puppet.ts';
const chat = (...args: string[]): Program => start(['run', PUPPET, '--interactive', '--json', ...args]);

/** What the last answer says the model was told: the session as the next run sees it. */
function historyIn(stdout: string): unknown {
  const text = eventsOf(stdout).at(-1)?.content?.parts?.[0]?.text ?? '';
  return JSON.parse(text);
}

test('an interrupt stops the model, keeps what was said, and the chat goes on', async () => {
  await using program = chat();
  program.type('hang');
  await program.until(/upon/);
  program.kill('SIGINT');
  program.type('history');
  program.endInput();
  const {code, stdout, stderr} = await program.ended;
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  expect(historyIn(stdout)).toEqual([
    ['user', 'hang'],
    ['model', 'Once upon '],
    ['user', 'history'],
  ]);
});

test('an interrupt stops a tool, and its call has an answer in the session', async () => {
  await using program = chat();
  program.type('wait');
  await program.until(/functionCall/);
  program.kill('SIGINT');
  program.type('history');
  program.endInput();
  const {code, stdout} = await program.ended;
  expect(code).toBe(0);
  const cancelled = {error: 'cancelled; it may have taken effect', started: true};
  expect(historyIn(stdout)).toEqual([
    ['user', 'wait'],
    ['model', 'wait'],
    ['user', cancelled],
    ['user', 'history'],
  ]);
});

test('a deaf tool is left behind, is told of, and says nothing any more', async () => {
  await using program = chat();
  program.type('deaf');
  await program.until(/functionCall/);
  program.kill('SIGINT');
  program.type('release');
  await program.until(/Released/);
  program.type('history');
  program.endInput();
  const {code, stdout, stderr} = await program.ended;
  expect(code).toBe(0);
  expect(stdout).not.toContain('late');
  expect(stderr).toMatch(/^warning: The tool `deaf` ignored the stop and was left behind/);
  expect(historyIn(stdout)).toContainEqual(['user', {error: 'cancelled; it may have taken effect', started: true}]);
});

test('a second interrupt leaves while the first still stops, with the session valid', async () => {
  await using folder = await folderOf({});
  const file = join(folder.path, 'session.json');
  await using program = start(['run', PUPPET, '--interactive', '--session', file]);
  program.type('linger');
  await program.until(/upon/);
  program.kill('SIGINT');
  await program.until(/lingers/, 'stderr');
  program.kill('SIGINT');
  const {code, stdout, stderr} = await program.ended;
  expect({code, stdout}).toEqual({code: 130, stdout: 'Once upon \n'});
  // No second prompt.
  expect(stderr).toMatch(/^> lingers\n(?:warning: .*\n)+stopped\n$/);
  const {events} = JSON.parse(await readFile(file, 'utf8')) as Session;
  expect(events.map(({content}) => content?.parts?.[0]?.text)).toEqual(['linger', 'Once upon ']);
});

test('a third interrupt leaves at once', async () => {
  await using program = start(['run', PUPPET, '--interactive']);
  program.type('linger');
  await program.until(/upon/);
  program.kill('SIGINT');
  await program.until(/lingers/, 'stderr');
  // Signals that come before the last one was handled are one.
  const key = setInterval(() => program.kill('SIGINT'), 20);
  const {code, stderr} = await program.ended;
  clearInterval(key);
  expect({code, stderr}).toEqual({code: 130, stderr: '> lingers\n'});
});

test('an interrupt at an idle prompt leaves with 130', async () => {
  await using program = start(['run', PUPPET, '--interactive']);
  await program.until(/> /, 'stderr');
  program.kill('SIGINT');
  expect(await program.ended).toEqual({code: 130, stdout: '', stderr: '> '});
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends a run of pipes with %i, once it has stopped', async (signal, code) => {
  await using folder = await folderOf({});
  const file = join(folder.path, 'session.json');
  await using program = start(['run', PUPPET, '--session', file]);
  program.type('hang');
  // Is not answered any more.
  program.type('hello');
  await program.until(/upon/);
  program.kill(signal);
  expect(await program.ended).toEqual({code, stdout: 'Once upon \n', stderr: 'stopped\n'});
  const {events} = JSON.parse(await readFile(file, 'utf8')) as Session;
  expect(events.map(({content, customMetadata}) => [content?.parts?.[0]?.text, customMetadata])).toEqual([
    ['hang', undefined],
    ['Once upon ', {stopped: true}],
  ]);
});

test.each(['SIGTERM', 'SIGHUP'] as const)('%s ends an idle chat', async (signal) => {
  await using program = start(['run', PUPPET, '--interactive']);
  await program.until(/> /, 'stderr');
  program.kill(signal);
  expect(await program.ended).toMatchObject({code: signal === 'SIGTERM' ? 143 : 129, stdout: ''});
});

test.each([
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const)('%s ends a run whose output nobody reads with %i, and keeps its session', async (signal, code) => {
  await using folder = await folderOf({});
  const file = join(folder.path, 'session.json');
  await using program = start(['run', PUPPET, '-m', 'flood', '--session', file]);
  // Eight megabytes are written at once: one who has seen some of them, and reads no more, keeps the rest waiting.
  await program.until(/xx/);
  program.stall();
  program.kill(signal);
  expect(await program.ended).toMatchObject({code, stderr: 'stopped\n'});
  const {events} = JSON.parse(await readFile(file, 'utf8')) as Session;
  expect(events.map(({author, customMetadata}) => [author, customMetadata])).toEqual([
    ['user', undefined],
    ['puppet', {stopped: true}],
  ]);
});

test('an interrupt stops an answer that nobody reads, and the chat goes on', async () => {
  await using program = start(['run', PUPPET, '--interactive']);
  program.type('flood');
  await program.until(/xx/);
  program.stall();
  program.kill('SIGINT');
  await program.until(/^> stopped\n> $/, 'stderr');
  program.kill('SIGINT');
  expect((await program.ended).code).toBe(130);
});

test('SIGTERM ends a program that waits for nothing but its reader', async () => {
  await using program = start(['run', PUPPET, '--json', '-m', 'logLast']);
  await program.until(/xx/);
  program.stall();
  program.kill('SIGTERM');
  expect(await program.ended).toMatchObject({code: 143, stderr: ''});
});
