import {readdir, readFile} from 'node:fs/promises';
import {join} from 'node:path';
import {getFunctionCalls, type Session} from 'sluice';
import {expect, test} from 'vitest';
import {eventsOf, folderOf, sluice, start} from './sluice.ts';

const PUPPET = 'tests/cli/agents/puppet.ts';

test('--json prints Events on stdout and nothing else there, and what tools log on stderr', async () => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '--json'], ['work']);
  expect({code, stderr}).toEqual({code: 0, stderr: 'logged by a tool\n'});
  const kinds = eventsOf(stdout).map(({author, partial = false, content}) => [author, partial, Object.keys(content?.parts?.[0] ?? {})[0]]);
  expect(kinds).toEqual([
    ['puppet', false, 'functionCall'],
    ['puppet', true, 'functionResponse'],
    ['puppet', false, 'functionResponse'],
    ['puppet', false, 'text'],
  ]);
});

test('--json keeps every Event on one line, whatever it holds', async () => {
  const {stdout} = await sluice(['run', PUPPET, '--json'], ['lines', 'escapes']);
  // oxlint-disable-next-line no-control-regex -- none may be there
  expect(stdout).not.toMatch(/[\u2028\u0000-\u0009\u000B-\u001F\u007F-\u009F]/);
  expect(eventsOf(stdout).map(({content}) => content?.parts?.[0]?.text)).toEqual([
    'one\u2028two',
    'a\u001B[2Jb\u009B1mc\rd\u0007 \u65E5\u672C\r\n\tend',
  ]);
});

test('--json takes lines of parts, of JSON strings, and of text', async () => {
  const lines = ['{"parts": [{"text": "a"}, {"text": "b"}]}', '"two\\nlines"', '{"city": "Paris"}', 'plain'];
  const {code, stdout} = await sluice(['run', PUPPET, '--json'], lines);
  expect(code).toBe(0);
  expect(eventsOf(stdout).map(({content}) => content?.parts?.[0]?.text)).toEqual([
    'You said "b".',
    'You said "two\\nlines".',
    'You said "{\\"city\\": \\"Paris\\"}".',
    'You said "plain".',
  ]);
});

test('--json answers a call that waits with parts', async () => {
  await using program = start(['run', PUPPET, '--json']);
  program.type('approve');
  await program.until(/longRunningToolIds[^]*\n[^]*longRunningToolIds[^]*\n/);
  program.type('hello');
  const [line = ''] = await program.until(/.*functionCall.*\n/);
  const [call] = eventsOf(line).flatMap(getFunctionCalls);
  program.type(JSON.stringify({parts: [{functionResponse: {id: call?.id, name: 'approve', response: {approved: true}}}]}));
  program.endInput();
  const {code, stdout, stderr} = await program.ended;
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  expect(eventsOf(stdout).at(-1)?.content?.parts).toEqual([{text: 'Got {"approved":true}.'}]);
});

test('--json says on stderr why a message cannot be taken, and goes on', async () => {
  const unknown = '{"parts": [{"functionResponse": {"id": "x", "response": {}}}]}';
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '--json'], ['{"parts": []}', unknown, 'hello']);
  expect(code).toBe(1);
  expect(stderr).toBe(
    'sluice: Expected `request.newMessage.parts` to be an array of at least one part, got an array of 0\n' +
      'sluice: The function call `x` waits for no answer in this session\n',
  );
  expect(eventsOf(stdout)).toHaveLength(3);
});

test('--session keeps the conversation, its state and its waiting calls for the next time', async () => {
  await using folder = await folderOf({});
  const session = ['--session', join(folder.path, 'chat.json')];
  const state = {city: 'Paris', 'user:name': 'Ada'};
  await sluice(['run', PUPPET, ...session, '--user', 'ada', '--state', JSON.stringify(state), '-m', 'hello']);
  await sluice(['run', PUPPET, ...session, '-m', 'approve']);
  expect(await sluice(['run', PUPPET, ...session, '-m', 'no'])).toMatchObject({code: 0, stdout: 'Got {"result":"no"}.\n'});
  const stored = JSON.parse(await readFile(join(folder.path, 'chat.json'), 'utf8')) as Session;
  expect(stored).toMatchObject({appName: 'puppet', state});
  expect(stored.events.map(({content}) => content?.parts?.[0]?.text).filter(Boolean)).toEqual([
    'hello',
    'Good morning.',
    'approve',
    'Got {"result":"no"}.',
  ]);
});

test.each([
  ['is no JSON', 'Hello', /^sluice: .*bad\.json does not hold a session: Unexpected token/],
  ['holds something else', '[]', /does not hold a session: expected \{"state": \{\.\.\.\}, "events": \[\.\.\.\]\}\n$/],
  ['holds a broken Event', '{"state": {}, "events": [{}]}', /does not hold a session: Expected `event\.id`/],
])('--session refuses a file that %s, and leaves it alone', async (_name, text, message) => {
  await using folder = await folderOf({'bad.json': text});
  const file = join(folder.path, 'bad.json');
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '--session', file, '-m', 'hello']);
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(message);
  expect(await readFile(file, 'utf8')).toBe(text);
});

test.each([
  ['a folder that is not there', 'nowhere/chat.json', 'ENOENT'],
  ['what is no folder', 'package.json/chat.json', 'ENOTDIR'],
])('--session in %s is refused before the model is asked', async (_name, file, reason) => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '--session', file, '-m', 'hello']);
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(new RegExp(`^sluice: Cannot keep the session in ${file}: ${reason}`));
});

test('--session leaves nothing behind where nothing is said', async () => {
  await using folder = await folderOf({});
  expect(await sluice(['run', PUPPET, '--session', join(folder.path, 'chat.json')])).toMatchObject({code: 0});
  expect(await readdir(folder.path)).toEqual([]);
});
