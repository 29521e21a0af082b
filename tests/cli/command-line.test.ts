import {readFileSync} from 'node:fs';
import {join} from 'node:path';
import {expect, test} from 'vitest';
import {Interrupts} from '../../lib/cli/interrupts.ts';
import {run} from '../../lib/cli/run.ts';
import {serve} from '../../lib/cli/serve.ts';
import {root} from '../package/project.ts';
import {sluice} from './sluice.ts';

const PUPPET = 'tests/cli/agents/puppet.ts';

test.each([
  ['--help', ['--help'], 'sluice'],
  ['-h', ['-h'], 'sluice'],
  ['help', ['help'], 'sluice'],
  ['run --help', ['run', '--help'], 'run'],
  ['help run', ['help', 'run'], 'run'],
  ['serve -h', ['serve', '-h'], 'serve'],
])('sluice %s prints what there is to know', async (_name, args, page) => {
  const {code, stdout, stderr} = await sluice(args);
  expect({code, stderr}).toEqual({code: 0, stderr: ''});
  await expect(stdout).toMatchFileSnapshot(`help/${page}.txt`);
});

test.each(['--version', '-V'])('sluice %s prints the version', async (flag) => {
  const {version} = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {version: string};
  expect(await sluice([flag])).toEqual({code: 0, stdout: `${version}\n`, stderr: ''});
});

test.each([
  [[], 'Expected a command: run or serve', ''],
  [['rn'], 'Unknown command rn: did you mean run?', ''],
  [['deploy'], 'Unknown command deploy', ''],
  [['--versoin'], 'Unknown option --versoin: did you mean --version?', ''],
  [['run', PUPPET, '--jsno'], 'Unknown option --jsno: did you mean --json?', 'run '],
  [['serve'], 'Expected a folder of agents, or the file of one', 'serve '],
])('sluice %j is refused with 2', async (args, message, command) => {
  expect(await sluice(args)).toEqual({code: 2, stdout: '', stderr: `sluice: ${message}\nTry: sluice ${command}--help\n`});
});

test.each([
  [[], 'Expected the file of an agent'],
  [[PUPPET, '-x'], 'Unknown option -x'],
  [[PUPPET, '--message'], '--message needs a value: --message TEXT'],
  [[PUPPET, '--session', '--json'], '--session needs a value, got the option --json (a value that looks like one: --session=--json)'],
  [[PUPPET, '-m'], '-m needs a value: -m TEXT'],
  [[PUPPET, '-m='], '-m needs a value: -m TEXT'],
  [[PUPPET, '-m', '-i'], '-m needs a value, got the option -i (a value that looks like one: -m=-i)'],
  [[PUPPET, '--json=yes'], '--json takes no value, got yes'],
  [[PUPPET, '-i=yes'], '-i takes no value, got yes'],
  [[PUPPET, 'hello', 'there'], 'Expected one agent, got also: hello there (what to say goes to --message)'],
  [[PUPPET, '-i', '-m', 'hello'], '--message and --interactive exclude each other'],
  [[PUPPET, '--state', '[1]'], `--state must be a JSON object, such as '{"city": "Paris"}', got [1]`],
])('run refuses %j before it loads anything', async (args, message) => {
  await expect(run(args, new Interrupts())).rejects.toMatchObject({message, command: 'run', exitCode: 2});
});

test.each([
  [['agents', 'more'], 'Expected one folder or file, got also: more'],
  [[PUPPET, '--port', 'http'], '--port must be a whole number from 0 to 65535, got http'],
  [[PUPPET, '--port', '65536'], '--port must be a whole number from 0 to 65535, got 65536'],
  [[PUPPET, '--cors', 'https://a.example/'], '--cors must be * or origins, such as https://a.example, got https://a.example/'],
  [[PUPPET, '--cors', 'a.example'], '--cors must be * or origins: https://app.example, got a.example'],
  [
    [PUPPET, '--allowed-hosts', 'a.example,b.example:8000'],
    '--allowed-hosts must be * or names without a port, such as agents.example, got b.example:8000',
  ],
  [[PUPPET, '--allowed-hosts', 'a.example,'], '--allowed-hosts must be * or names without a port, such as agents.example, got a.example,'],
  [[PUPPET, '-p=http'], '--port must be a whole number from 0 to 65535, got http'],
  [[PUPPET, '--on-disconnect', 'stop'], '--on-disconnect must be abort or continue, got stop'],
])('serve refuses %j before it loads anything', async (args, message) => {
  await expect(serve(args)).rejects.toMatchObject({message, command: 'serve', exitCode: 2});
});

test.each([
  [['-m', '-5?'], '-5?'],
  [['-m=hi'], 'hi'],
  [['-mhi'], 'hi'],
  [['-m=-i'], '-i'],
  [['-m==hi'], '=hi'],
  [['-m', '=hi'], '=hi'],
  [['--message==hi'], '=hi'],
  [['-m=first', '-m=last'], 'last'],
])('%j says %s', async (args, message) => {
  expect(await sluice(['run', PUPPET, ...args])).toMatchObject({code: 0, stdout: `You said "${message}".\n`});
});
