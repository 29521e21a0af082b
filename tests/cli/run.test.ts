import {expect, test} from 'vitest';
import {sluice, start} from './sluice.ts';

const PUPPET = 'tests/cli/agents/puppet.ts';

test('run prints the answer to a message as it comes, and ends', async () => {
  expect(await sluice(['run', PUPPET, '-m', 'hello'])).toEqual({code: 0, stdout: 'Good morning.\n', stderr: ''});
});

test('run answers every line of its input, in one session', async () => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET], ['hello', '', '  ', 'whole', 'history']);
  const history = [
    ['user', 'hello'],
    ['model', 'Good morning.'],
    ['user', 'whole'],
    ['model', 'Not streamed.'],
    ['user', 'history'],
  ];
  expect({code, stdout, stderr}).toEqual({code: 0, stdout: `Good morning.\nNot streamed.\n${JSON.stringify(history)}\n`, stderr: ''});
});

test('run tells of calls, their progress and their responses on stderr', async () => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '-m', 'work']);
  expect({code, stdout}).toEqual({code: 0, stdout: 'logged by a tool\nGot {"done":"all"}.\n'});
  expect(stderr).toBe('call work {"on":"it"}\nprogress work {"done":"half"}\nresponse work {"done":"all"}\n');
});

test('run lets nothing through that a terminal would obey', async () => {
  const {stdout} = await sluice(['run', PUPPET, '-m', 'escapes']);
  expect(stdout).toBe('a^[[2Jb<U+009B>1mc^Md^G \u65E5\u672C\n\tend\n');
});

test('run asks for whole replies with --no-stream', async () => {
  const {stdout} = await sluice(['run', PUPPET, '--no-stream', '--json', '-m', 'hello']);
  expect(stdout.trimEnd().split('\n')).toHaveLength(1);
});

test('run takes the next message as the answer to a call that waits', async () => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET], ['approve', '{"approved": true}', 'hello']);
  expect({code, stdout}).toEqual({code: 0, stdout: 'Got {"approved":true}.\nGood morning.\n'});
  const asked = 'waiting approve {"amount":90}: the next message is the answer, as JSON or text; an empty line leaves it open';
  expect(stderr).toBe(`call approve {"amount":90}\nresponse approve {"status":"asked"}\n${asked}\n`);
});

test('run asks for one answer after the other, and takes text for a result', async () => {
  const {stdout} = await sluice(['run', PUPPET], ['approveTwice', 'yes', '12']);
  expect(stdout).toBe('Got {"result":12}.\n');
});

test.each([
  ['yes', 'Got {"paid":90}.\n'],
  ['N', 'Got {"error":"The user refused this call"}.\n'],
  ['{"confirmed": true}', 'Got {"paid":90}.\n'],
])('run asks whether a call may run, and takes %j for an answer', async (word, answer) => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET], ['pay', word]);
  expect({code, stdout}).toEqual({code: 0, stdout: answer});
  const asked = 'waiting pay {"amount":90}: Confirm the call of pay. The next message is yes, no or JSON; an empty line leaves it open';
  expect(stderr.split('\n')).toContain(asked);
});

test('run asks again after an answer that does not fit', async () => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET], ['pay', 'perhaps', 'y', 'ask', 'long', '3']);
  expect({code, stdout}).toEqual({code: 1, stdout: 'Got {"paid":90}.\nGot {"result":3}.\n'});
  expect(stderr).toMatch(/^sluice: Expected `request.newMessage` to be a confirmation/m);
  expect(stderr).toMatch(/^waiting: For how long\?: the next message/m);
  expect(stderr).toMatch(/^sluice: Expected `request.newMessage` to be an answer that fits/m);
});

test('run leaves a call open at an empty line', async () => {
  const {stdout, stderr} = await sluice(['run', PUPPET], ['approve', '', 'hello', 'yes']);
  expect(stdout).toBe('Good morning.\nGot {"result":"yes"}.\n');
  expect(stderr.match(/^waiting approve/gm)).toHaveLength(2);
});

test.each([
  ['a failing model', 'fail', 'sluice: The quota is used up\n'],
  ['a reply without usable content', 'blocked', 'sluice: SAFETY: Blocked.\n'],
])('run ends with 1 after %s, and says why in a sentence', async (_name, message, stderr) => {
  expect(await sluice(['run', PUPPET, '-m', message])).toEqual({code: 1, stdout: '', stderr});
});

test.each([
  ['a model', 'crash'],
  ['a callback', 'crashCallback'],
])("run shows where the developer's own code threw, in %s", async (_name, message) => {
  const {code, stdout, stderr} = await sluice(['run', PUPPET, '-m', message]);
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(/^sluice: .*a bug of the developer\nTypeError: a bug of the developer\n {4}at .*puppet\.ts:\d+:\d+/);
  expect(stderr).not.toMatch(/node:internal|dist\//);
});

test('run goes on with the next line after a run that failed, and still ends with 1', async () => {
  const {code, stdout} = await sluice(['run', PUPPET], ['fail', 'hello']);
  expect({code, stdout}).toEqual({code: 1, stdout: 'Good morning.\n'});
});

test('run does not wait for what a module holds open', async () => {
  await using program = start(['run', 'tests/cli/agents/busy.ts', '-m', 'hello']);
  expect(await program.ended).toMatchObject({code: 0, stdout: 'Hello.\n'});
});

test('run ends when the reader of its output leaves, quietly, and the run with it', async () => {
  await using program = start(['run', PUPPET, '-m', 'endless']);
  await program.until(/upon/);
  program.leave();
  expect(await program.ended).toMatchObject({code: 0, stderr: ''});
});

test('run reads messages of any length', async () => {
  const long = 'x'.repeat(300_000);
  const {stdout} = await sluice(['run', PUPPET], [long]);
  expect(stdout).toBe(`You said "${long}".\n`);
});

test('run --interactive prompts on stderr, and leaves at the end of its input', async () => {
  expect(await sluice(['run', PUPPET, '-i'], ['hello'])).toEqual({code: 0, stdout: 'Good morning.\n', stderr: '> > '});
});
