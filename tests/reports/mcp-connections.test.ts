// What people reported about the connections of other runtimes to MCP servers: dead sessions, processes that stay, a close that crashes. Each
// server is a real process, or a real HTTP server. More of it is proved in `tests/mcp`, such as the programs that exit (google/adk-js#333,
// #377, #394; google/adk-python#362) in `tests/mcp/process`.
import {describe, expect, test} from 'vitest';
import {FunctionTool} from 'sluice';
import {MCPToolset} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {expectValid, line, stage, type Stage} from '../stories/kit.ts';
import {HttpPeer} from '../mcp/http-peer.ts';
import {StdioPeer, tools} from '../mcp/stdio-peer.ts';

const noon = {content: [{type: 'text', text: 'noon'}]};
// A busy machine, whose event loop stands still now and then, is no matter here.
const runConfig = {blockedLoopMs: Infinity};
const local = new FunctionTool({name: 'local', description: 'Needs no server.', execute: () => 'here'});
const calling = (toolset: MCPToolset, ...names: readonly string[]): Promise<Stage> =>
  stage({steps: [functionCalls(...names.map((name) => ({name, args: {}}))), 'done', 'again'], runConfig, agent: {tools: [toolset, local]}});

describe('a session that is dead', () => {
  // google/adk-python#2979, #2059, #1463, #3321
  test('because its process has ended is made anew by the next run, which loses nothing', async () => {
    await using peer = await StdioPeer.start({...tools({name: 'now', annotations: {readOnlyHint: true}}), 'tools/call': () => noon});
    const toolset = new MCPToolset(peer.params());
    for (let round = 0; round < 3; round++) {
      const it = await calling(toolset, 'now', 'local');
      expect((await collect(it.run())).events.map(line)[1]).toBe('root: now={"result":"noon"} local={"result":"here"}');
      const process = peer.processes.at(-1);
      process?.print('!exit 0');
      await process?.gone;
    }
    expect(peer.processes).toHaveLength(3);
    await toolset.close();
  });

  // google/adk-python#6822: the server says 404 to the session that it has forgotten, however healthy the sockets look.
  test('because its server has forgotten it is made anew, once, and the call comes through', async () => {
    await using peer = await HttpPeer.start([{name: 'pay'}]);
    let forgotten = true;
    peer.answers['tools/call'] = (exchange) => {
      if (!forgotten) return exchange.json(noon);
      forgotten = false;
      return exchange.status(404);
    };
    const it = await calling(new MCPToolset(peer.params()), 'pay');
    expect((await collect(it.run())).events.map(line)).toEqual(['root: pay({})', 'root: pay={"result":"noon"}', 'root: "done"']);
    expect(peer.methods.filter((method) => method === 'initialize' || method === 'tools/call')).toEqual([
      'initialize',
      'tools/call',
      'initialize',
      'tools/call',
    ]);
    await it.runner.close();
  });

  // google/adk-python#3341, #5025: no silence, and no session that is no good afterwards.
  test('from the start is an error of the run that names the server, and a later run goes through', async () => {
    const gone = await HttpPeer.start([]);
    const {port} = gone;
    await gone.stop();
    const toolset = new MCPToolset({type: 'StreamableHTTPConnectionParams', url: `http://127.0.0.1:${port}/mcp`});
    const it = await calling(toolset, 'now');
    expect((await collect(it.run())).error).toMatchObject({
      code: 'MCP_CONNECTION_FAILED',
      message: expect.stringContaining(`:${port}/mcp`),
    });
    expect(it.model.calls).toBe(0);
    await using peer = await HttpPeer.start([{name: 'now'}], port);
    peer.answers['tools/call'] = (exchange) => exchange.json(noon);
    expect((await collect(it.run('again'))).events.map(line)).toEqual(['root: now({})', 'root: now={"result":"noon"}', 'root: "done"']);
    expectValid(await it.stored());
    await it.runner.close();
  });
});

describe('closing', () => {
  // google/adk-python#2196, #3708, #5886: from another task, over and over, and while a call is under way.
  test('from anywhere, at once and again, settles; the process is gone, and nothing was rejected unheard', async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on('unhandledRejection', note);
    try {
      await using peer = await StdioPeer.start(tools('work'));
      const toolset = new MCPToolset(peer.params());
      const started = peer.started();
      const it = await calling(toolset, 'work');
      const reading = collect(it.run());
      const server = await started;
      await server.next('tools/call');
      await Promise.all([toolset.close(), new Promise((resolve) => setImmediate(() => resolve(toolset.close()))), toolset.close()]);
      expect((await reading).events.map(line)[1]).toMatch(/^root: work=\{"error":"The toolset of the MCP server .* was closed"\}$/);
      await server.gone;
      await Promise.all([it.runner.close(), it.runner.close(), toolset.close()]);
      await new Promise((resolve) => setImmediate(resolve));
      expect([rejections, it.diagnostics]).toEqual([[], []]);
    } finally {
      process.off('unhandledRejection', note);
    }
  });

  // google/adk-js#333, #377, #394: a process for each call, and none of them ever ended.
  test('leaves nothing of the one process that served all calls of all runs', async () => {
    await using peer = await StdioPeer.start({...tools('now'), 'tools/call': () => noon});
    const it = await calling(new MCPToolset(peer.params()), 'now', 'now', 'now');
    await collect(it.run());
    await collect(it.run('again'));
    expect(peer.processes).toHaveLength(1);
    await it.runner.close();
    await peer.processes[0]?.gone;
    expect(peer.processes[0]?.methods.at(-1)).toBe('end of input');
  });
});
