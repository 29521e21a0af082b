// MCP servers as npm has them, each in a process of its own.
import {mkdtemp, readFile, rm, writeFile} from 'node:fs/promises';
import {tmpdir} from 'node:os';
import {join} from 'node:path';
import {fileURLToPath} from 'node:url';
import {expect, test} from 'vitest';
import {getFunctionResponses} from 'sluice';
import {MCPToolset, type StdioConnectionParams} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage} from '../stories/kit.ts';

// A busy machine, whose event loop stands still now and then, is no matter here.
const runConfig = {blockedLoopMs: Infinity};

function server(name: string, args: readonly string[] = [], env: Record<string, string> = {}): StdioConnectionParams {
  const program = fileURLToPath(new URL(`../../node_modules/@modelcontextprotocol/server-${name}/dist/index.js`, import.meta.url));
  return {type: 'StdioConnectionParams', serverParams: {command: process.execPath, args: [program, ...args], env}};
}

test('server-everything: text, structured content, media, links, progress, and arguments that are refused before they are sent', async () => {
  const steps = [
    functionCalls(
      {name: 'get-sum', args: {a: 2, b: 3}},
      {name: 'get-structured-content', args: {location: 'New York'}},
      {name: 'get-tiny-image', args: {}},
      {name: 'get-resource-reference', args: {resourceType: 'Blob', resourceId: 1}},
      {name: 'get-resource-links', args: {count: 1}},
      {name: 'echo', args: {}},
    ),
    functionCalls({name: 'trigger-long-running-operation', args: {duration: 0.1, steps: 2}}),
    'done',
  ];
  const it = await stage({steps, runConfig, agent: {tools: [new MCPToolset(server('everything'))]}});
  const {events, error} = await collect(it.run());
  expect(error).toBeUndefined();
  expect(events.map(line).slice(2)).toEqual([
    'root: trigger-long-running-operation({"duration":0.1,"steps":2})',
    'root: trigger-long-running-operation={"progress":1,"total":2} [partial]',
    'root: trigger-long-running-operation={"progress":2,"total":2} [partial]',
    'root: trigger-long-running-operation={"result":"Long running operation completed. Duration: 0.1 seconds, Steps: 2."}',
    'root: "done"',
  ]);
  const [sum, structured, image, reference, links, echo] = getFunctionResponses(events[1]!);
  expect(sum?.response).toEqual({result: 'The sum of 2 and 3 is 5.'});
  expect(structured?.response).toEqual({temperature: 33, conditions: 'Cloudy', humidity: 82});
  expect(image?.response).toEqual({
    result: ["Here's the image you requested:", {attachment: 1, mimeType: 'image/png'}, 'The image above is the MCP logo.'],
  });
  expect(image?.parts).toEqual([{inlineData: {mimeType: 'image/png', data: expect.stringMatching(/^iVBORw0KGgo/)}}]);
  const uri = 'demo://resource/dynamic/blob/1';
  expect(reference?.response?.['result']).toContainEqual({attachment: 1, mimeType: 'text/plain', displayName: uri});
  expect(reference?.parts).toEqual([{inlineData: {mimeType: 'text/plain', data: expect.any(String)}}]);
  expect(links?.response?.['result']).toContainEqual(expect.objectContaining({type: 'resource_link', uri}));
  expect(echo?.response).toEqual({error: 'Invalid arguments: message: is missing. Expected: {message: string}'});
  expectValid(await it.stored());
  await it.runner.close();
  expect(it.diagnostics).toEqual([]);
});

test('server-everything: a stop in the middle of a call, and another run over the same process', async () => {
  const toolset = new MCPToolset(server('everything'), ['trigger-long-running-operation', 'echo']);
  const steps = [functionCalls({name: 'trigger-long-running-operation', args: {duration: 60, steps: 600}})];
  const it = await stage({steps, runConfig, agent: {tools: [toolset]}});
  const stop = new AbortController();
  const seen: string[] = [];
  const reason = new Error('enough');
  const read = async (): Promise<void> => {
    for await (const event of it.run('go', {abortSignal: stop.signal})) {
      seen.push(line(event));
      if (event.partial) stop.abort(reason);
    }
  };
  await expect(read()).rejects.toBe(reason);
  expect(seen.slice(1)).toEqual(['root: trigger-long-running-operation={"progress":1,"total":600} [partial]']);
  expectNoListeners(stop.signal);
  expectValid(await it.stored());

  const other = await stage({steps: [functionCalls({name: 'echo', args: {message: 'hi'}}), 'done'], runConfig, agent: {tools: [toolset]}});
  expect((await collect(other.run())).events.map(line)[1]).toBe('root: echo={"result":"Echo: hi"}');
  expect(other.model.requests[0]?.config?.tools).toEqual([
    {functionDeclarations: [expect.objectContaining({name: 'echo'}), expect.objectContaining({name: 'trigger-long-running-operation'})]},
  ]);
  await other.runner.close();
  expect([...it.diagnostics, ...other.diagnostics]).toEqual([]);
});

test('server-memory and server-filesystem: two servers with one agent, whose files hold what was done', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'sluice-mcp-'));
  try {
    await writeFile(join(folder, 'note.txt'), 'buy bread');
    const entity = {name: 'Ada', entityType: 'person', observations: ['likes bread']};
    const memory = join(folder, 'memory.json');
    const steps = [
      functionCalls(
        {name: 'memory_create_entities', args: {entities: [entity]}},
        {name: 'files_read_text_file', args: {path: join(folder, 'note.txt')}},
        {name: 'files_read_text_file', args: {path: '/etc/hostname'}},
      ),
      'done',
    ];
    const files = new MCPToolset(server('filesystem', [folder]), ['read_text_file'], 'files');
    const graph = new MCPToolset(server('memory', [], {MEMORY_FILE_PATH: memory}), [], 'memory');
    const it = await stage({steps, runConfig, agent: {tools: [files, graph]}});
    const [, answered] = (await collect(it.run())).events;
    const [created, read, refused] = answered ? getFunctionResponses(answered) : [];
    expect(created?.response).toEqual({entities: [entity]});
    expect(read?.response).toEqual({content: 'buy bread'});
    expect(refused?.response).toEqual({error: expect.stringContaining('Access denied')});
    await it.runner.close();
    expect(JSON.parse(await readFile(memory, 'utf8'))).toEqual({type: 'entity', ...entity});
    expect(it.diagnostics).toEqual([]);
  } finally {
    await rm(folder, {recursive: true});
  }
});
