// What people reported about calls to MCP servers from other runtimes: calls that block, hang, or are sent twice. Each server is a real process,
// or a real HTTP server. More of it is proved in `tests/mcp`.
import {afterEach, describe, expect, test, vi} from 'vitest';
import {FunctionTool, SequentialAgent} from 'sluice';
import {MCPToolset} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage, type Stage} from '../stories/kit.ts';
import {HttpPeer} from '../mcp/http-peer.ts';
import {StdioPeer, tools} from '../mcp/stdio-peer.ts';
import {scripted} from './desk.ts';

afterEach(() => vi.useRealTimers());

const noon = {content: [{type: 'text', text: 'noon'}]};
// A busy machine, whose event loop stands still now and then, is no matter here.
const runConfig = {blockedLoopMs: Infinity};
const local = new FunctionTool({name: 'local', description: 'Needs no server.', execute: () => 'here'});
const calling = (toolset: MCPToolset, ...names: readonly string[]): Promise<Stage> =>
  stage({steps: [functionCalls(...names.map((name) => ({name, args: {}}))), 'done', 'again'], runConfig, agent: {tools: [toolset, local]}});

describe('a call', () => {
  // google/adk-java#698, #273
  test('blocks neither the other calls of its reply, nor those of other runs on the same connection', async () => {
    await using peer = await StdioPeer.start(tools('work'));
    const toolset = new MCPToolset(peer.params());
    await toolset.getTools();
    const [process] = peer.processes;
    const [one, other] = [await calling(toolset, 'work', 'local', 'work'), await calling(toolset, 'work')];
    const readings = [collect(one.run()), collect(other.run())];
    const under = [];
    for (let count = 0; count < 3; count++) under.push(await process!.next('tools/call'));
    for (const message of under.toReversed()) process?.text(message, 'worked');
    const [first, second] = await Promise.all(readings);
    expect(first?.events.map(line)[1]).toBe('root: work={"result":"worked"} local={"result":"here"} work={"result":"worked"}');
    expect(second?.events.map(line)[1]).toBe('root: work={"result":"worked"}');
    expect(peer.processes).toHaveLength(1);
    await toolset.close();
  });

  // google/adk-java#285, #272; google/adk-python#1086: 5 or 10 seconds, and then the tool was called again. The SDK itself gives up after 60.
  test('that takes longer than a minute is waited for, and sent once', async () => {
    await using peer = await StdioPeer.start(tools('work'));
    const toolset = new MCPToolset(peer.params());
    await toolset.getTools();
    const [process] = peer.processes;
    const it = await calling(toolset, 'work');
    vi.useFakeTimers({toFake: ['setTimeout', 'clearTimeout']});
    const reading = collect(it.run());
    const message = await process!.next('tools/call');
    await vi.advanceTimersByTimeAsync(110_000);
    process?.text(message, 'worked');
    expect((await reading).events.map(line)).toEqual(['root: work({})', 'root: work={"result":"worked"}', 'root: "done"']);
    expect(process?.methods.filter((method) => method === 'tools/call')).toHaveLength(1);
    expect(vi.getTimerCount()).toBe(0);
    vi.useRealTimers();
    await it.runner.close();
  });

  // google/adk-python#3084; google/adk-java#272
  test.each(['stdio', 'http'])('that is never answered ends at its deadline, and the other tools go on (%s)', async (kind) => {
    const stdio = kind === 'stdio' ? await StdioPeer.start(tools('work')) : undefined;
    const http = stdio ? undefined : await HttpPeer.start([{name: 'work'}]);
    await using peer = stdio ?? http!;
    const toolset = new MCPToolset(peer.params(), [], undefined, {timeoutMs: 100});
    const it = await calling(toolset, 'work', 'local');
    const {events, outcome} = await collect(it.run());
    expect(events.map(line).slice(1)).toEqual([
      'root: work={"error":"The tool `work` did not end within 100 ms"} local={"result":"here"}',
      'root: "done"',
    ]);
    expect([outcome.kind, outcome.abandoned]).toEqual(['done', []]);
    await it.runner.close();
    expectValid(await it.stored());
  });

  // vercel/ai#16580
  test('whose run is stopped after it was sent settles, though the server never answers, and leaves nothing', async () => {
    await using peer = await StdioPeer.start(tools('work'));
    const started = peer.started();
    const it = await calling(new MCPToolset(peer.params()), 'work', 'local');
    const stop = new AbortController();
    const reading = collect(it.run('go', {abortSignal: stop.signal}));
    const process = await started;
    const {id} = await process.next('tools/call');
    stop.abort('enough');
    const {error, outcome} = await reading;
    expect([error, outcome.abandoned]).toEqual(['enough', []]);
    expect((await process.next('notifications/cancelled')).params).toMatchObject({requestId: id});
    expect((await it.stored()).map(line).at(-1)).toBe(
      'root: work={"error":"cancelled; it may have taken effect","started":true} local={"result":"here"}',
    );
    expectNoListeners(stop.signal);
    await it.runner.close();
    await process.gone;
  });

  // google/adk-python#3355, #4277
  test('that fails is told to the model, and the agents after it run', async () => {
    await using peer = await StdioPeer.start(tools('work'));
    const first = scripted('first', [functionCalls({name: 'work'}, {name: 'local'}), 'It did not work.'], {
      tools: [new MCPToolset(peer.params()), local],
    });
    const started = peer.started();
    const it = await stage({
      runConfig,
      runner: {agent: new SequentialAgent({name: 'all', subAgents: [first, scripted('next', ['Go on.'])]})},
    });
    const reading = collect(it.run());
    const process = await started;
    process.refuse(await process.next('tools/call'), -32002, 'Resource not found');
    expect((await reading).events.map(line).slice(1)).toEqual([
      expect.stringMatching(/^first: work=\{"error":".*Resource not found.*"\} local=\{"result":"here"\}$/),
      'first: "It did not work."',
      'next: "Go on."',
    ]);
    await it.runner.close();
  });

  // google/adk-js#299
  test('of a tool with a prefix reaches the server under its own name', async () => {
    await using peer = await StdioPeer.start({...tools('work'), 'tools/call': () => noon});
    const it = await calling(new MCPToolset(peer.params(), [], 'my'), 'my_work');
    const seen = vi.fn<(name: unknown) => void>();
    peer.answers = {...peer.answers, 'tools/call': ({params}) => (seen(params?.['name']), noon)};
    expect((await collect(it.run())).events.map(line)[1]).toBe('root: my_work={"result":"noon"}');
    expect(seen.mock.calls).toEqual([['work']]);
    await it.runner.close();
  });
});
