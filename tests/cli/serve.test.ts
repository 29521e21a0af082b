import {once} from 'node:events';
import {request, type IncomingMessage} from 'node:http';
import {createServer, type AddressInfo} from 'node:net';
import {expect, test} from 'vitest';
import {folderOf, sluice, start, type Program} from './sluice.ts';

const agent = (name: string, exported = 'export const rootAgent ='): string => `
import {LlmAgent} from 'sluice';
import {ScriptedLlm} from 'sluice/testing';
${exported} new LlmAgent({name: '${name}', model: new ScriptedLlm({steps: ['Hello from ${name}.']})});
`;

async function urlOf(program: Program): Promise<string> {
  const [, url = ''] = await program.until(/on (http:\S+)\n/);
  return url;
}

async function ask(url: string, appName: string): Promise<unknown> {
  const session = await fetch(`${url}/apps/${appName}/users/u/sessions/s`, {method: 'POST'});
  expect(session.status).toBe(200);
  const newMessage = {role: 'user', parts: [{text: 'Hello?'}]};
  const body = JSON.stringify({appName, userId: 'u', sessionId: 's', newMessage});
  const response = await fetch(`${url}/run`, {method: 'POST', headers: {'content-type': 'application/json'}, body});
  const [event] = (await response.json()) as [{author: string; content: {parts: [{text: string}]}}];
  return event.content.parts[0].text;
}

test('serve serves the files and folders of a folder by their names, and passes over what is no agent', async () => {
  await using folder = await folderOf({
    'weather.ts': agent('weather'),
    'travel/agent.ts': agent('traveller', 'export default'),
    'clock/index.ts': agent('clock'),
    'tools.ts': 'export const tools = [];',
    'weather.test.ts': 'throw new Error("a test");',
    'types.d.ts': 'throw new Error("types");',
    '_draft.ts': 'throw new Error("a draft");',
    'shared/names.ts': 'throw new Error("no agent");',
    'notes.md': '',
  });
  await using program = start(['serve', '.', '--port', '0'], {cwd: folder.path});
  const url = await urlOf(program);
  expect(await (await fetch(`${url}/list-apps`)).json()).toEqual(['clock', 'travel', 'weather']);
  expect(await ask(url, 'travel')).toBe('Hello from traveller.');
  program.kill('SIGTERM');
  expect(await program.ended).toEqual({
    code: 0,
    stdout: `Serving clock, travel, weather on ${url}\n`,
    stderr: 'sluice: passed over tools.ts: no rootAgent, and no default export\n',
  });
});

test.each(['weather.ts', 'travel', 'travel/agent.ts'])('serve serves one agent, %s', async (path) => {
  await using folder = await folderOf({'weather.ts': agent('one'), 'travel/agent.ts': agent('one'), 'travel/tools.ts': 'throw 1;'});
  await using program = start(['serve', path, '-p', '0'], {cwd: folder.path});
  const name = path.startsWith('weather') ? 'weather' : 'travel';
  expect(await ask(await urlOf(program), name)).toBe('Hello from one.');
  program.kill('SIGINT');
  expect(await program.ended).toMatchObject({code: 0, stderr: ''});
});

test('serve lets the pages of --cors in, and no others', async () => {
  await using program = start(['serve', 'tests/cli/agents/puppet.ts', '-p', '0', '--cors', 'https://a.example,https://b.example']);
  const url = await urlOf(program);
  const allowed = async (origin: string): Promise<string | null> =>
    (await fetch(`${url}/list-apps`, {headers: {origin}})).headers.get('access-control-allow-origin');
  expect(await allowed('https://b.example')).toBe('https://b.example');
  expect(await allowed('https://c.example')).toBeNull();
});

test('serve answers for the names of --allowed-hosts and for this machine, and for no others', async () => {
  await using program = start(['serve', 'tests/cli/agents/puppet.ts', '-p', '0', '--allowed-hosts', 'a.example, b.example']);
  const url = await urlOf(program);
  const statusFor = async (host: string): Promise<number | undefined> => {
    const [answer] = (await once(request(`${url}/list-apps`, {headers: {host}, agent: false}).end(), 'response')) as [IncomingMessage];
    answer.resume();
    return answer.statusCode;
  };
  expect(await Promise.all(['b.example', 'localhost', 'c.example'].map(statusFor))).toEqual([200, 200, 403]);
});

test('serve stops a run that outlasts its drain, and ends with 0', async () => {
  await using program = start(['serve', 'tests/cli/agents/puppet.ts', '-p', '0']);
  const url = await urlOf(program);
  await fetch(`${url}/apps/puppet/users/u/sessions/s`, {method: 'POST'});
  const newMessage = {role: 'user', parts: [{text: 'hang'}]};
  const body = JSON.stringify({appName: 'puppet', userId: 'u', sessionId: 's', streaming: true, newMessage});
  const response = await fetch(`${url}/run_sse`, {method: 'POST', headers: {'content-type': 'application/json'}, body});
  const reader = (response.body ?? new ReadableStream<Uint8Array>()).getReader();
  expect(new TextDecoder().decode((await reader.read()).value)).toContain('Once');
  program.kill('SIGTERM');
  let rest = '';
  for (let read = await reader.read(); !read.done; read = await reader.read()) rest += new TextDecoder().decode(read.value);
  expect(rest).toContain('RUNNER_CLOSED');
  expect((await program.ended).code).toBe(0);
});

test.each([
  [
    'an agent that fails to load',
    {'a.ts': agent('a'), 'b.ts': 'throw new Error("no key");'},
    /^sluice: Cannot load b\.ts: Error: no key\n {4}at file/,
  ],
  [
    'an agent that never ends loading',
    {'a.ts': agent('a'), 'b.ts': 'await new Promise(() => {});'},
    /^sluice: Cannot load b\.ts: it, or a module that it imports, awaits something at its top level that never settles\n$/,
  ],
  ['no agent at all', {'a.ts': 'export const a = 1;', 'b.ts': ''}, /sluice: No agent in \.: expected files \(weather\.ts\) or folders/],
  ['two agents of one name', {'a.ts': agent('a'), 'a/agent.ts': agent('a')}, /^sluice: \. has two agents named a: rename one of them\n$/],
])('serve refuses a folder with %s', async (_name, files, message) => {
  await using folder = await folderOf(files);
  const {code, stdout, stderr} = await sluice(['serve', '.', '-p', '0'], [], {cwd: folder.path});
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toMatch(message);
});

test('serve says that its port is in use', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const {port} = server.address() as AddressInfo;
  const {code, stdout, stderr} = await sluice(['serve', 'tests/cli/agents/puppet.ts', '-p', String(port)]);
  server.close();
  expect({code, stdout}).toEqual({code: 1, stdout: ''});
  expect(stderr).toBe(
    `sluice: Cannot listen on port ${port} of 127.0.0.1: it is in use: choose another with --port (0: any that is free)\n`,
  );
});
