import {describe, expect, test} from 'vitest';
import {MCPToolset, type MCPTool} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage, type Stage} from '../stories/kit.ts';
import {progressTokenOf, StdioPeer, tools, type StdioProcess} from './stdio-peer.ts';

const calling = (toolset: MCPToolset, ...names: readonly string[]): Promise<Stage> =>
  stage({
    steps: [functionCalls(...names.map((name) => ({name, args: {}}))), 'done', 'again'],
    runConfig: {blockedLoopMs: Infinity},
    agent: {tools: [toolset]},
  });

/** A run that has got as far as to its call of `name`. */
async function underWay(peer: StdioPeer, toolset: MCPToolset, name: string, abortSignal?: AbortSignal) {
  const started = peer.started();
  const it = await calling(toolset, name);
  const reading = collect(it.run('go', abortSignal && {abortSignal}));
  const process = await started;
  return {it, reading, process, message: await process.next('tools/call')};
}

describe('one connection', () => {
  test('is shared by concurrent runs and by the steps of each, and listed once', async () => {
    await using peer = await StdioPeer.start({...tools('now'), 'tools/call': () => ({content: [{type: 'text', text: 'noon'}]})});
    const toolset = new MCPToolset(peer.params());
    const stages = await Promise.all([1, 2, 3].map(() => calling(toolset, 'now', 'now')));
    const runs = await Promise.all(stages.map((it) => collect(it.run())));
    for (const {events} of runs) {
      expect(events.map(line)).toEqual(['root: now({}) now({})', 'root: now={"result":"noon"} now={"result":"noon"}', 'root: "done"']);
    }
    expect(peer.processes.map(({methods}) => methods)).toEqual([
      ['initialize', 'notifications/initialized', 'tools/list', ...Array.from({length: 6}, () => 'tools/call')],
    ]);
    await toolset.close();
  });

  test('is made by the first run and closed with the runner, together with the process', async () => {
    await using peer = await StdioPeer.start(tools('now'));
    const toolset = new MCPToolset(peer.params());
    const it = await stage({steps: ['hello'], runConfig: {blockedLoopMs: Infinity}, agent: {tools: [toolset]}});
    expect(peer.processes).toEqual([]);
    await collect(it.run());
    await it.runner.close();
    await peer.processes[0]?.gone;
    expect(peer.processes[0]?.methods).toEqual(['initialize', 'notifications/initialized', 'tools/list', 'end of input']);
    expect(it.diagnostics).toEqual([]);
  });

  test('a process that hears neither the end of its input nor SIGTERM is killed, within the bound of runner.close()', async () => {
    await using peer = await StdioPeer.start(tools('now'));
    const it = await stage({
      steps: ['hello'],
      runConfig: {blockedLoopMs: Infinity},
      agent: {tools: [new MCPToolset(peer.params({}, 'stubborn'))]},
    });
    await collect(it.run());
    await it.runner.close();
    await peer.processes[0]?.gone;
    expect(peer.processes[0]?.methods.slice(-2)).toEqual(['end of input', 'SIGTERM']);
    expect(it.diagnostics).toEqual([]);
  });

  test('after close() a later use connects again', async () => {
    await using peer = await StdioPeer.start(tools('now'));
    const toolset = new MCPToolset(peer.params());
    await toolset.getTools();
    await Promise.all([toolset.close(), toolset.close()]);
    expect((await toolset.getTools()).map(({name}) => name)).toEqual(['now']);
    await toolset.close();
    expect(peer.processes).toHaveLength(2);
  });
});

describe('the list', () => {
  test('is read page by page, and sorted by name whatever the order of the server', async () => {
    const pages: Record<string, unknown> = {
      first: {tools: [{name: 'b'}, {name: 'd'}], nextCursor: 'second'},
      second: {tools: [{name: 'c'}, {name: 'a'}, {name: 'b'}], nextCursor: 'third'},
      third: {tools: []},
    };
    await using peer = await StdioPeer.start({
      ...tools(),
      'tools/list': ({params}) => pages[String(params?.['cursor'] ?? 'first')],
    });
    const toolset = new MCPToolset(peer.params());
    expect((await toolset.getTools()).map(({name}) => name)).toEqual(['a', 'b', 'c', 'd']);
    await toolset.close();
  });

  test('that has no end is an error, and ends the connection', async () => {
    await using peer = await StdioPeer.start({...tools(), 'tools/list': () => ({tools: [], nextCursor: 'more'})});
    const toolset = new MCPToolset(peer.params());
    await expect(toolset.getTools()).rejects.toMatchObject({name: 'MCPError', code: 'MCP_BAD_TOOLS'});
    await peer.processes[0]?.gone;
  });

  test('is read anew when the server says that it has changed; the old one does where it cannot be', async () => {
    await using peer = await StdioPeer.start(tools('one'));
    const toolset = new MCPToolset(peer.params());
    const names = async (): Promise<string[]> => (await toolset.getTools()).map(({name}) => name);
    expect(await names()).toEqual(['one']);
    const before = await toolset.getTools();
    expect((await toolset.getTools())[0]).toBe(before[0]);

    const [process] = peer.processes as [StdioProcess];
    Object.assign(peer.answers, tools('one', 'two'));
    process.notify('notifications/tools/list_changed');
    await process.caughtUp();
    expect(await names()).toEqual(['one', 'two']);

    delete (peer.answers as Record<string, unknown>)['tools/list'];
    process.notify('notifications/tools/list_changed');
    await process.caughtUp();
    const asked = Promise.all([names(), names()]);
    for (const list of [1, 2, 3]) {
      const message = await process.next('tools/list');
      if (list === 3) process.refuse(message, -32_603, 'no list today');
    }
    expect(await asked).toEqual([
      ['one', 'two'],
      ['one', 'two'],
    ]);
    await toolset.close();
  });

  test('of a server without tools is empty', async () => {
    const initialize = (): unknown => ({protocolVersion: '2025-06-18', capabilities: {}, serverInfo: {name: 'peer', version: '1'}});
    await using peer = await StdioPeer.start({initialize});
    const toolset = new MCPToolset(peer.params());
    expect(await toolset.getTools()).toEqual([]);
    await toolset.close();
  });
});

describe('a stop', () => {
  test('during a call sends notifications/cancelled, and does not wait for a server that is deaf', async () => {
    await using peer = await StdioPeer.start(tools('sleep'));
    const toolset = new MCPToolset(peer.params());
    const stop = new AbortController();
    const {it, reading, process, message} = await underWay(peer, toolset, 'sleep', stop.signal);
    const reason = new Error('enough');
    stop.abort(reason);
    const {error, outcome} = await reading;
    expect(error).toBe(reason);
    expect(outcome).toMatchObject({kind: 'abort', abandoned: []});
    expect((await process.next('notifications/cancelled')).params).toEqual({requestId: message.id, reason: 'Error: enough'});
    expectNoListeners(stop.signal);
    expectValid(await it.stored());
    // A late answer goes nowhere, and the connection still serves.
    process.text(message, 'too late');
    const [tool] = (await toolset.getTools()) as [MCPTool];
    expect(tool.name).toBe('sleep');
    expect(peer.processes).toHaveLength(1);
    await it.runner.close();
    expect(it.diagnostics).toEqual([]);
  });

  test('during connecting ends the run at once, and the process, which never answers', async () => {
    await using peer = await StdioPeer.start({});
    const stop = new AbortController();
    const started = peer.started();
    const it = await calling(new MCPToolset(peer.params({}, 'stubborn')), 'now');
    const reading = collect(it.run('go', {abortSignal: stop.signal}));
    const process = await started;
    await process.next('initialize');
    stop.abort(new Error('enough'));
    expect((await reading).error).toEqual(new Error('enough'));
    expectNoListeners(stop.signal);
    await it.runner.close();
    await process.gone;
    expect(it.diagnostics).toEqual([]);
  });

  test('during listing does not end what another run waits for', async () => {
    const answers = tools('now');
    await using peer = await StdioPeer.start({initialize: answers['initialize']!});
    const toolset = new MCPToolset(peer.params());
    const stop = new AbortController();
    const started = peer.started();
    const [one, other] = [await calling(toolset, 'now'), await calling(toolset, 'now')];
    const stopped = collect(one.run('go', {abortSignal: stop.signal}));
    const reading = collect(other.run());
    const process = await started;
    const list = await process.next('tools/list');
    stop.abort(new Error('enough'));
    expect((await stopped).error).toEqual(new Error('enough'));
    process.answer(list, {tools: [{name: 'now'}]});
    process.text(await process.next('tools/call'), 'noon');
    expect((await reading).events.map(line)).toEqual(['root: now({})', 'root: now={"result":"noon"}', 'root: "done"']);
    expect(peer.processes).toHaveLength(1);
    await toolset.close();
  });

  test('by the deadline of the call is told to the model and to the server, and the run goes on', async () => {
    await using peer = await StdioPeer.start(tools('sleep'));
    const toolset = new MCPToolset(peer.params(), [], undefined, {timeoutMs: 50});
    const {it, reading, process} = await underWay(peer, toolset, 'sleep');
    expect((await reading).events.map(line)).toEqual([
      'root: sleep({})',
      'root: sleep={"error":"The tool `sleep` did not end within 50 ms"}',
      'root: "done"',
    ]);
    await process.next('notifications/cancelled');
    await it.runner.close();
  });

  test('by runner.close() ends the run, the call and the process', async () => {
    await using peer = await StdioPeer.start(tools('sleep'));
    const {it, reading, process} = await underWay(peer, new MCPToolset(peer.params()), 'sleep');
    await it.runner.close({timeoutMs: 0});
    expect((await reading).error).toMatchObject({code: 'RUNNER_CLOSED'});
    await process.gone;
  });

  test('by toolset.close() is told to the model of the call that was under way', async () => {
    await using peer = await StdioPeer.start(tools('sleep'));
    const toolset = new MCPToolset(peer.params());
    const {it, reading} = await underWay(peer, toolset, 'sleep');
    await toolset.close();
    const {events} = await reading;
    expect(events.map(line)[1]).toMatch(/^root: sleep=\{"error":"The toolset of the MCP server `.*` was closed"\}$/);
    await it.runner.close();
  });
});

test('a server that does not answer in `timeout` is an error that says so, and its process ends', async () => {
  await using peer = await StdioPeer.start({});
  const toolset = new MCPToolset({...peer.params(), timeout: 500});
  await expect(toolset.getTools()).rejects.toMatchObject({
    code: 'MCP_CONNECTION_FAILED',
    message: expect.stringMatching(/did not connect and list its tools within 500 ms$/),
  });
  await toolset.close();
});

describe('a call', () => {
  test('shows the progress that the server tells, one Event each, also what comes right before the answer', async () => {
    await using peer = await StdioPeer.start(tools('work'));
    const toolset = new MCPToolset(peer.params());
    const {it, reading, process, message} = await underWay(peer, toolset, 'work');
    const progressToken = progressTokenOf(message);
    const shown = [1, 2].map((progress) => {
      const params = {progressToken, progress, total: 2, message: `step ${progress}`};
      return {jsonrpc: '2.0', method: 'notifications/progress', params};
    });
    const answer = {jsonrpc: '2.0', id: message.id, result: {content: [{type: 'text', text: 'worked'}]}};
    process.print(`!at once ${JSON.stringify([...shown, answer].map((it) => `${JSON.stringify(it)}\n`))}`);
    expect((await reading).events.map(line)).toEqual([
      'root: work({})',
      'root: work={"progress":1,"total":2,"message":"step 1"} [partial]',
      'root: work={"progress":2,"total":2,"message":"step 2"} [partial]',
      'root: work={"result":"worked"}',
      'root: "done"',
    ]);
    await it.runner.close();
  });

  test('that the server refuses, with whatever code, is told to the model and costs no connection', async () => {
    await using peer = await StdioPeer.start(tools('pay'));
    const {it, reading, process, message} = await underWay(peer, new MCPToolset(peer.params()), 'pay');
    process.refuse(message, -32_000, 'no such account');
    expect((await reading).events.map(line)[1]).toBe('root: pay={"error":"MCP error -32000: no such account"}');
    await it.runner.close();
    expect(peer.processes).toHaveLength(1);
  });

  test('brings ten megabytes', async () => {
    await using peer = await StdioPeer.start(tools('big'));
    const {it, reading, process, message} = await underWay(peer, new MCPToolset(peer.params()), 'big');
    process.text(message, 'x'.repeat(10_000_000));
    const {events} = await reading;
    expect(events.map(line)[1]).toHaveLength('root: big={"result":""}'.length + 10_000_000);
    await it.runner.close();
  });

  test('is not disturbed by what the server prints among its messages', async () => {
    await using peer = await StdioPeer.start(tools('now'));
    const {it, reading, process, message} = await underWay(peer, new MCPToolset(peer.params()), 'now');
    for (const garbage of [
      'Listening...',
      '{"half": ',
      '{"jsonrpc":"1.0"}',
      '[]',
      'null',
      '',
      '{"jsonrpc":"2.0","id":"nobody","result":{}}',
    ])
      process.print(garbage);
    process.text(message, 'noon');
    expect((await reading).events.map(line)[1]).toBe('root: now={"result":"noon"}');
    await it.runner.close();
  });

  test('a message longer than maxBufferSize ends the connection, and the error says why', async () => {
    await using peer = await StdioPeer.start(tools('big'));
    const {it, reading, process, message} = await underWay(peer, new MCPToolset(peer.params({maxBufferSize: 10_000})), 'big');
    process.text(message, 'x'.repeat(10_000));
    expect((await reading).events.map(line)[1]).toMatch(
      /it sent a message of more than 10000 bytes \(maxBufferSize\)\). It may have taken/,
    );
    await process.gone;
    await it.runner.close();
  });
});

describe('a server that dies', () => {
  const DIED =
    /The connection to the MCP server `.*` was lost while `pay` was called \(it exited with code 3; its last words:\\nout of memory\)/;

  test('under a call that may have taken effect: the model is told, with its last words, and the next call has a new process', async () => {
    await using peer = await StdioPeer.start(tools('pay'));
    const toolset = new MCPToolset(peer.params());
    const {it, reading, process} = await underWay(peer, toolset, 'pay');
    process.print('!stderr out of memory');
    process.print('!exit 3');
    const {events} = await reading;
    expect(events.map(line)[1]).toMatch(DIED);
    expect(events.map(line)[1]).toMatch(/It may have taken effect/);
    expect(events.map(line).at(-1)).toBe('root: "done"');

    const again = await underWay(peer, toolset, 'pay');
    again.process.text(again.message, 'paid');
    expect((await again.reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    expect(peer.processes).toHaveLength(2);
    await it.runner.close();
  });

  test.each([{readOnlyHint: true}, {idempotentHint: true}])('under a call with %o: it is made again, once', async (annotations) => {
    await using peer = await StdioPeer.start(tools({name: 'pay', annotations}));
    const toolset = new MCPToolset(peer.params());
    const first = await underWay(peer, toolset, 'pay');
    const restarted = peer.started();
    first.process.print('!exit 3');
    const second = await restarted;
    second.text(await second.next('tools/call'), 'paid');
    expect((await first.reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');

    const third = await calling(toolset, 'pay');
    const reading = collect(third.run());
    const last = peer.started();
    await second.next('tools/call');
    second.print('!exit 3');
    const process = await last;
    await process.next('tools/call');
    process.print('!exit 3');
    expect((await reading).events.map(line)[1]).toMatch(/was lost while `pay` was called/);
    expect(peer.processes).toHaveLength(3);
    await toolset.close();
  });

  test('between calls costs nothing: the list is known, and the next call connects anew', async () => {
    // One that may be called again, should it be called before the end of its server is known.
    await using peer = await StdioPeer.start(tools({name: 'pay', annotations: {readOnlyHint: true}}));
    const toolset = new MCPToolset(peer.params());
    await toolset.getTools();
    const [process] = peer.processes as [StdioProcess];
    process.print('!exit 0');
    await process.gone;
    expect((await toolset.getTools()).map(({name}) => name)).toEqual(['pay']);
    const {it, reading, process: next, message} = await underWay(peer, toolset, 'pay');
    next.text(message, 'paid');
    expect((await reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    await it.runner.close();
  });

  test('while it starts is an error of the run that says why', async () => {
    await using peer = await StdioPeer.start({});
    const started = peer.started();
    const it = await calling(new MCPToolset(peer.params()), 'pay');
    const reading = collect(it.run());
    const process = await started;
    process.print('!stderr no token in the environment');
    process.print('!exit 1');
    expect((await reading).error).toMatchObject({
      code: 'MCP_CONNECTION_FAILED',
      message: expect.stringMatching(/^Could not connect to .*: it exited with code 1; its last words:\nno token in the environment$/),
    });
    await it.runner.close();
  });
});

describe('a server that is there, and refuses,', () => {
  const failing = async (peer: StdioPeer): Promise<unknown> => {
    const it = await calling(new MCPToolset(peer.params()), 'pay');
    const {error} = await collect(it.run());
    await it.runner.close();
    return error;
  };

  test.each(['initialize', 'tools/list'])('to answer %s is told in its own words', async (method) => {
    const {initialize} = tools();
    await using peer = await StdioPeer.start(method === 'initialize' ? {} : {initialize: initialize!});
    const started = peer.started();
    const failed = failing(peer);
    const process = await started;
    process.refuse(await process.next(method), -1, 'no thanks');
    const what = method === 'initialize' ? 'connect to' : 'list the tools of';
    expect(await failed).toMatchObject({
      code: 'MCP_CONNECTION_FAILED',
      message: expect.stringMatching(new RegExp(`^Could not ${what} the MCP server \`.*\`: MCP error -1: no thanks$`)),
    });
  });

  test('to speak a version that is known is told so', async () => {
    const initialize = (): unknown => ({protocolVersion: '1999-01-01', capabilities: {}, serverInfo: {name: 'peer', version: '1'}});
    await using peer = await StdioPeer.start({initialize});
    expect(await failing(peer)).toMatchObject({
      message: expect.stringMatching(/: Server's protocol version is not supported: 1999-01-01$/),
    });
  });
});

test('a program that does not exist is an error of the run that names it', async () => {
  const toolset = new MCPToolset({type: 'StdioConnectionParams', serverParams: {command: '/nowhere/mcp-server'}});
  const it = await calling(toolset, 'pay');
  expect((await collect(it.run())).error).toMatchObject({
    code: 'MCP_CONNECTION_FAILED',
    message: 'Could not connect to the MCP server `/nowhere/mcp-server`: spawn /nowhere/mcp-server ENOENT',
  });
  await it.runner.close();
  expect(it.diagnostics).toEqual([]);
});

test('a process is handed no variables but the harmless ones and those it is given', async () => {
  process.env['SLUICE_TEST_SECRET'] = 'secret';
  await using peer = await StdioPeer.start(tools());
  const toolset = new MCPToolset(peer.params({env: {REGION: 'north'}}));
  await toolset.getTools();
  delete process.env['SLUICE_TEST_SECRET'];
  const {SLUICE_TEST_SECRET, REGION, PATH} = peer.processes[0]?.env ?? {};
  expect({SLUICE_TEST_SECRET, REGION, PATH}).toEqual({SLUICE_TEST_SECRET: undefined, REGION: 'north', PATH: process.env['PATH']});
  await toolset.close();
});
