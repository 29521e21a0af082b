// What becomes of a program, and of the server that it has started, at its end.
import {spawn, type ChildProcessByStdio} from 'node:child_process';
import {mkdtemp, readFile, rm} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import type {Readable, Writable} from 'node:stream';
import {text} from 'node:stream/consumers';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import type {MCPConnectionParams} from 'sluice/mcp';
import {HttpPeer} from './http-peer.ts';
import {StdioPeer, tools} from './stdio-peer.ts';

const noon = {content: [{type: 'text', text: 'noon'}]};
const answers = {...tools('now'), 'tools/call': () => noon};

interface Program {
  readonly child: ChildProcessByStdio<Writable, Readable, Readable>;
  /** Its exit code, and all that it printed. */
  readonly ended: Promise<{code: number | null; out: string; errors: string}>;
}

function start(end: string, params: MCPConnectionParams): Program {
  const program = fileURLToPath(new URL('children/program.ts', import.meta.url));
  const child = spawn(process.execPath, ['--no-warnings', program, end, JSON.stringify(params)], {stdio: 'pipe'});
  const code = new Promise<number | null>((resolve) => child.on('close', resolve));
  const ended = Promise.all([code, text(child.stdout), text(child.stderr)]).then(([code, out, errors]) => ({code, out, errors}));
  return {child, ended};
}

test.each([['obedient'], ['stubborn']])(
  'a program exits after runner.close(), and nothing of the server is left (%s)',
  async (...flags) => {
    await using peer = await StdioPeer.start(answers);
    const {ended} = start('close', peer.params({}, ...flags));
    expect(await ended).toEqual({code: 0, out: '{"result":"noon"}\ndone\n[]\n0 0\n', errors: ''});
    await peer.processes[0]?.gone;
  },
);

test('a process that the server has started, and that keeps its pipes open, does not keep the program', async () => {
  await using peer = await StdioPeer.start(answers);
  const {serverParams} = peer.params();
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mcp-'));
  const pid = join(folder, 'pid');
  const script = `sleep 60 & echo $! > ${pid}; exec "$0" "$@"`;
  const args = ['-c', script, serverParams.command, ...(serverParams.args ?? [])];
  try {
    const {ended} = start('close', {type: 'StdioConnectionParams', serverParams: {command: '/bin/sh', args}});
    expect(await ended).toEqual({code: 0, out: '{"result":"noon"}\ndone\n[]\n0 0\n', errors: ''});
  } finally {
    process.kill(Number(await readFile(pid, 'utf8')));
    await rm(folder, {recursive: true});
  }
});

test('a program that never closes its runner exits all the same, and takes the server with it', async () => {
  await using peer = await StdioPeer.start(answers);
  const {ended} = start('leave', peer.params());
  expect(await ended).toEqual({code: 0, out: '{"result":"noon"}\ndone\n', errors: ''});
  await peer.processes[0]?.gone;
});

test('process.exit() in the middle of a call takes the server with it', async () => {
  await using peer = await StdioPeer.start(tools('now'));
  const started = peer.started();
  const {child, ended} = start('exit', peer.params());
  const process = await started;
  await process.next('tools/call');
  child.stdin.write('exit\n');
  expect(await ended).toMatchObject({code: 0, errors: ''});
  await process.gone;
});

test('what a server writes to its stderr is kept from the program, unless it is to inherit it', async () => {
  for (const stderr of ['pipe', 'inherit'] as const) {
    await using peer = await StdioPeer.start(tools('now'));
    const started = peer.started();
    const {ended} = start('close', peer.params({stderr}));
    const process = await started;
    const call = await process.next('tools/call');
    process.print('!stderr a word');
    await process.caughtUp();
    process.answer(call, noon);
    expect(await ended).toMatchObject({code: 0, errors: stderr === 'inherit' ? 'a word\n' : ''});
  }
});

test('a program exits after runner.close() over HTTP, and its exchanges are over', async () => {
  await using peer = await HttpPeer.start([{name: 'now'}]);
  delete peer.answers['GET'];
  peer.answers['tools/call'] = (exchange) => exchange.answer(noon);
  const {ended} = start('close', peer.params());
  expect(await ended).toMatchObject({code: 0, out: expect.stringMatching(/^\{"result":"noon"\}\ndone\n/), errors: ''});
  expect(peer.methods).toContain('GET');
});

test('without the SDK an import of sluice/mcp works, and the first use says what is missing', async () => {
  const code = `
    import {registerHooks} from 'node:module';
    registerHooks({resolve: (specifier, context, next) => {
      if (specifier.startsWith('@modelcontextprotocol/')) throw Object.assign(new Error('Cannot find package'), {code: 'ERR_MODULE_NOT_FOUND'});
      return next(specifier, context);
    }});
    const {MCPToolset} = await import(${JSON.stringify(new URL('../../lib/mcp/index.ts', import.meta.url).href)});
    const toolset = new MCPToolset({type: 'StdioConnectionParams', serverParams: {command: 'server'}});
    await toolset.getTools().catch(({code, message}) => console.log(code, message));
  `;
  const child = spawn(process.execPath, ['--no-warnings', '--input-type=module', '--eval', code]);
  const missing = 'MCPToolset needs the package @modelcontextprotocol/sdk (npm install @modelcontextprotocol/sdk): Cannot find package';
  expect(await Promise.all([text(child.stdout), text(child.stderr)])).toEqual([`MCP_SDK_MISSING ${missing}\n`, '']);
});
