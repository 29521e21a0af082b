import {randomUUID} from 'node:crypto';
import {createServer} from 'node:http';
import type {AddressInfo} from 'node:net';
import {McpServer} from '@modelcontextprotocol/sdk/server/mcp.js';
import {StreamableHTTPServerTransport} from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import {describe, expect, test} from 'vitest';
import {z} from 'zod';
import {MCPToolset} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {expectNoListeners, line, stage, type Stage} from '../stories/kit.ts';
import {HttpPeer, type Exchange} from './http-peer.ts';
import {progressTokenOf} from './stdio-peer.ts';

const text = (said: string): unknown => ({content: [{type: 'text', text: said}]});
const calling = (toolset: MCPToolset, name: string): Promise<Stage> =>
  stage({steps: [functionCalls({name, args: {}}), 'done'], runConfig: {blockedLoopMs: Infinity}, agent: {tools: [toolset]}});

/** A run that has got as far as to its call of `name`. */
async function underWay(peer: HttpPeer, toolset: MCPToolset, name: string, abortSignal?: AbortSignal) {
  const it = await calling(toolset, name);
  const reading = collect(it.run('go', abortSignal && {abortSignal}));
  return {it, reading, exchange: await peer.next('tools/call')};
}

test("the SDK's own server: calls, progress, a list that changes, and a session that is ended", async () => {
  const server = new McpServer({name: 'weather', version: '1'});
  server.registerTool('weather', {inputSchema: {city: z.string()}}, async ({city}, {_meta, sendNotification}) => {
    const progressToken = _meta?.progressToken ?? '';
    await sendNotification({method: 'notifications/progress', params: {progressToken, progress: 1}});
    return {content: [{type: 'text', text: `sunny in ${city}`}]};
  });
  const transport = new StreamableHTTPServerTransport({sessionIdGenerator: () => randomUUID()});
  await server.connect(transport);
  const ended = new Promise<void>((resolve) => Object.assign(server.server, {onclose: resolve}));
  const http = createServer((request, response) => void transport.handleRequest(request, response));
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const {port} = http.address() as AddressInfo;
  const toolset = new MCPToolset({type: 'StreamableHTTPConnectionParams', url: `http://127.0.0.1:${port}/`}, [], 'sky');

  const steps = [functionCalls({name: 'sky_weather', args: {city: 'Oslo'}}), 'done'];
  const it = await stage({steps, runConfig: {blockedLoopMs: Infinity}, agent: {tools: [toolset]}});
  expect((await collect(it.run())).events.map(line)).toEqual([
    'root: sky_weather({"city":"Oslo"})',
    'root: sky_weather={"progress":1} [partial]',
    'root: sky_weather={"result":"sunny in Oslo"}',
    'root: "done"',
  ]);
  await it.runner.close();
  await ended;
  const gone = new Promise((resolve) => http.close(resolve));
  http.closeIdleConnections();
  await gone;
});

describe('a connection', () => {
  test('sends the headers of `header`, or those of `transportOptions`, and ends its session when it is closed', async () => {
    for (const options of [{header: {'x-key': 'k'}}, {transportOptions: {requestInit: {headers: {'x-key': 'k'}}}}]) {
      await using peer = await HttpPeer.start([{name: 'now'}]);
      peer.answers['tools/call'] = (exchange) => exchange.answer(text('noon'));
      const toolset = new MCPToolset(peer.params(options));
      const called = peer.next('tools/call');
      const it = await calling(toolset, 'now');
      expect((await collect(it.run())).events.map(line)[1]).toBe('root: now={"result":"noon"}');
      expect((await called).headers).toMatchObject({'x-key': 'k', 'mcp-session-id': 'session'});
      await it.runner.close();
      expect(peer.methods.filter((method) => method !== 'GET')).toEqual([
        'initialize',
        'notifications/initialized',
        'tools/list',
        'tools/call',
        'DELETE',
      ]);
    }
  });

  test('with `terminateOnClose: false` the session is left to the server', async () => {
    await using peer = await HttpPeer.start([{name: 'now'}]);
    const toolset = new MCPToolset(peer.params({terminateOnClose: false}));
    await toolset.getTools();
    await toolset.close();
    expect(peer.methods).not.toContain('DELETE');
  });

  test('is told of a list that has changed', async () => {
    const tools = [{name: 'one'}];
    await using peer = await HttpPeer.start(tools);
    delete peer.answers['GET'];
    const toolset = new MCPToolset(peer.params());
    await toolset.getTools();
    const pushed = await peer.next('GET');
    tools.push({name: 'two'});
    void pushed.event({jsonrpc: '2.0', method: 'notifications/tools/list_changed'});
    void pushed.event({jsonrpc: '2.0', id: 'ping', method: 'ping'});
    peer.answers['answer'] = (exchange) => exchange.status(202);
    await peer.next('answer');
    expect((await toolset.getTools()).map(({name}) => name)).toEqual(['one', 'two']);
    await toolset.close();
  });

  test('to nobody is an error of the run that names the address, without what could be secret in it', async () => {
    const peer = await HttpPeer.start([]);
    const {port} = peer;
    await peer.stop();
    const url = `http://127.0.0.1:${port}/mcp?key=secret`;
    const it = await calling(new MCPToolset({type: 'StreamableHTTPConnectionParams', url}), 'now');
    const {error} = await collect(it.run());
    expect(error).toMatchObject({
      code: 'MCP_CONNECTION_FAILED',
      message: expect.stringContaining(`server at http://127.0.0.1:${port}/mcp:`),
    });
    expect(String(error)).not.toMatch(/secret/);
    await it.runner.close();
  });

  test.each([
    ['a page', (exchange: Exchange) => exchange.status(200, 'text/html', '<h1>Hello</h1>'), /Unexpected content type: text\/html/],
    [
      'a refusal',
      (exchange: Exchange) => exchange.status(403, 'text/plain', 'no entry'),
      /: HTTP 403: Error POSTing to endpoint: no entry$/,
    ],
    ['an error of its own', (exchange: Exchange) => exchange.status(500), /: HTTP 500: Error POSTing to endpoint: $/],
    ['a long page', (exchange: Exchange) => exchange.status(404, 'text/html', '<p>'.repeat(1_000_000)), /^.{0,80}: HTTP 404: .{900,1000}$/],
    ['nothing', (exchange: Exchange) => exchange.status(202), /ended its reply without an answer/],
    ['half an answer', (exchange: Exchange) => exchange.status(200, 'application/json', '{"jsonrpc":"2.0",'), /JSON/],
    [
      'another version',
      (exchange: Exchange) => exchange.json({protocolVersion: '1', capabilities: {}, serverInfo: {name: '', version: ''}}),
      /version/,
    ],
  ])('to what greets with %s is an error of the run', async (_, greet, message) => {
    await using peer = await HttpPeer.start([]);
    peer.answers['initialize'] = greet;
    const toolset = new MCPToolset(peer.params());
    await expect(toolset.getTools()).rejects.toMatchObject({code: 'MCP_CONNECTION_FAILED', message: expect.stringMatching(message)});
    await toolset.close();
  });
});

describe('a stop', () => {
  test.each(['before its head', 'in its stream', 'in a stream that can be resumed'])(
    'of a call closes its exchange %s, and tells the server',
    async (when) => {
      await using peer = await HttpPeer.start([{name: 'sleep'}]);
      const toolset = new MCPToolset(peer.params());
      const stop = new AbortController();
      const {it, reading, exchange} = await underWay(peer, toolset, 'sleep', stop.signal);
      const progressToken = progressTokenOf(exchange.message);
      if (when !== 'before its head') {
        void exchange.event(
          {jsonrpc: '2.0', method: 'notifications/progress', params: {progressToken, progress: 1}},
          when.includes('can') ? '1' : undefined,
        );
      }
      const cancelled = peer.next('notifications/cancelled');
      stop.abort(new Error('enough'));
      expect((await reading).error).toEqual(new Error('enough'));
      expect((await cancelled).message.params).toMatchObject({requestId: exchange.message.id});
      await exchange.closed;
      expectNoListeners(stop.signal);
      await it.runner.close();
      expect(it.diagnostics).toEqual([]);
    },
  );

  test.each(['of the call', 'of the toolset'])('%s closes an exchange whose answer has begun', async (what) => {
    await using peer = await HttpPeer.start([{name: 'sleep'}]);
    const toolset = new MCPToolset(peer.params());
    const stop = new AbortController();
    const {it, reading, exchange} = await underWay(peer, toolset, 'sleep', stop.signal);
    await exchange.head();
    if (what === 'of the call') stop.abort(new Error('enough'));
    else await toolset.close();
    await exchange.closed;
    await reading;
    await it.runner.close();
  });

  test.each(['initialize', 'notifications/initialized', 'tools/list'])(
    'while %s is not answered ends the run, and the exchange',
    async (method) => {
      await using peer = await HttpPeer.start([{name: 'now'}]);
      delete peer.answers[method];
      const stop = new AbortController();
      const it = await calling(new MCPToolset(peer.params()), 'now');
      const reading = collect(it.run('go', {abortSignal: stop.signal}));
      const exchange = await peer.next(method);
      stop.abort(new Error('enough'));
      expect((await reading).error).toEqual(new Error('enough'));
      await exchange.closed;
      expectNoListeners(stop.signal);
      await it.runner.close();
      expect(it.diagnostics).toEqual([]);
    },
  );

  test('runner.close() is done although the server does not let the session go', async () => {
    await using peer = await HttpPeer.start([{name: 'now'}]);
    delete peer.answers['DELETE'];
    const it = await stage({steps: ['hello'], runConfig: {blockedLoopMs: Infinity}, agent: {tools: [new MCPToolset(peer.params())]}});
    await collect(it.run());
    const leaving = peer.next('DELETE');
    await it.runner.close();
    await (
      await leaving
    ).closed;
    expect(it.diagnostics).toEqual([]);
  });
});

test('a call that is answered with a status is told to the model with it', async () => {
  await using peer = await HttpPeer.start([{name: 'pay'}]);
  peer.answers['tools/call'] = (exchange) => exchange.status(503, 'text/plain', 'closed today');
  const it = await calling(new MCPToolset(peer.params()), 'pay');
  const where = `the MCP server at http://127.0.0.1:${peer.port}/mcp`;
  const error = `${where} did not answer the call of \`pay\`: HTTP 503: Error POSTing to endpoint: closed today`;
  expect((await collect(it.run())).events.map(line)[1]).toBe(`root: pay=${JSON.stringify({error})}`);
  await it.runner.close();
});

describe('a call whose answer does not come', () => {
  const LOST =
    /^root: pay=\{"error":"The connection to the MCP server at .* was lost while `pay` was called \(.*\)\. It may have taken effect\."\}$/;

  test.each([
    ['a stream that ends', async (exchange: Exchange) => exchange.event('').then(() => exchange.end())],
    ['a stream that breaks', async (exchange: Exchange) => exchange.event('').then(() => exchange.destroy())],
    ['an exchange that breaks', async (exchange: Exchange) => exchange.destroy()],
    ['an empty answer', async (exchange: Exchange) => exchange.status(202)],
  ])('because of %s is told to the model, and the next call has a new session', async (_, fail) => {
    await using peer = await HttpPeer.start([{name: 'pay'}]);
    const toolset = new MCPToolset(peer.params());
    const {it, reading, exchange} = await underWay(peer, toolset, 'pay');
    await fail(exchange);
    expect((await reading).events.map(line)[1]).toMatch(LOST);
    const again = await underWay(peer, toolset, 'pay');
    again.exchange.answer(text('paid'));
    expect((await again.reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    expect(peer.methods.filter((method) => method === 'initialize')).toHaveLength(2);
    await it.runner.close();
  });

  test('is made again where the tool is read-only, while another call of the same session goes on', async () => {
    await using peer = await HttpPeer.start([{name: 'pay'}, {name: 'read', annotations: {readOnlyHint: true}}]);
    const toolset = new MCPToolset(peer.params());
    const other = await underWay(peer, toolset, 'pay');
    const {it, reading, exchange} = await underWay(peer, toolset, 'read');
    exchange.destroy();
    (await peer.next('tools/call')).answer(text('read'));
    expect((await reading).events.map(line)[1]).toBe('root: read={"result":"read"}');
    other.exchange.answer(text('paid'));
    expect((await other.reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    await it.runner.close();
  });

  test.each([404, 400])('because the session is not known any more (%i) is made again in a new one, whatever the tool', async (status) => {
    await using peer = await HttpPeer.start([{name: 'pay'}]);
    const {it, reading, exchange} = await underWay(peer, new MCPToolset(peer.params()), 'pay');
    exchange.status(status);
    (await peer.next('tools/call')).answer(text('paid'));
    expect((await reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    expect(peer.methods.filter((method) => method === 'initialize')).toHaveLength(2);
    await it.runner.close();
  });

  test('because the server was away and is back on its port is made again, whatever the tool', async () => {
    const before = await HttpPeer.start([{name: 'pay'}]);
    const toolset = new MCPToolset(before.params());
    await toolset.getTools();
    const {port} = before;
    await before.stop();
    const it = await calling(toolset, 'pay');
    expect((await collect(it.run())).events.map(line)[1]).toMatch(/Could not connect to|was lost/);

    await using peer = await HttpPeer.start([{name: 'pay'}], port);
    const {reading, exchange} = await underWay(peer, toolset, 'pay');
    exchange.answer(text('paid'));
    expect((await reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    await it.runner.close();
    await toolset.close();
  });

  test('is got by the SDK where its stream can be resumed', async () => {
    await using peer = await HttpPeer.start([{name: 'pay'}]);
    const reconnectionOptions = {initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1, maxRetries: 2};
    const toolset = new MCPToolset(peer.params({transportOptions: {reconnectionOptions}}));
    const {it, reading, exchange} = await underWay(peer, toolset, 'pay');
    peer.answers['GET'] = (resumed) => {
      expect(resumed.headers['last-event-id']).toBe('7');
      void resumed.event({jsonrpc: '2.0', id: exchange.message.id, result: text('paid')});
      resumed.end();
    };
    await exchange.event('', '7');
    exchange.destroy();
    expect((await reading).events.map(line)[1]).toBe('root: pay={"result":"paid"}');
    await it.runner.close();
  });

  test.each([405, 500])('and is not got by the SDK either (%i), is told to the model', async (status) => {
    await using peer = await HttpPeer.start([{name: 'pay'}]);
    const reconnectionOptions = {initialReconnectionDelay: 1, maxReconnectionDelay: 1, reconnectionDelayGrowFactor: 1, maxRetries: 2};
    const toolset = new MCPToolset(peer.params({transportOptions: {reconnectionOptions}}));
    const {it, reading, exchange} = await underWay(peer, toolset, 'pay');
    peer.answers['GET'] = (resumed) => resumed.status(status);
    await exchange.event('', '7');
    exchange.destroy();
    expect((await reading).events.map(line)[1]).toMatch(LOST);
    await it.runner.close();
  });
});
