import {describe, expect, test} from 'vitest';
import {getFunctionResponses} from 'sluice';
import {MCPToolset, type MCPConnectionParams, type MCPToolsetOptions} from 'sluice/mcp';
import {collect, functionCalls} from 'sluice/testing';
import {line, stage} from '../stories/kit.ts';
import {HttpPeer} from './http-peer.ts';

/** What the model is told of a call that the server answers so. */
async function responseOf(result: Record<string, unknown>, listed: Record<string, unknown> = {}): Promise<unknown> {
  await using peer = await HttpPeer.start([{name: 'tool', ...listed}]);
  peer.answers['tools/call'] = (exchange) => exchange.json(result);
  const toolset = new MCPToolset(peer.params());
  const it = await stage({steps: [functionCalls({name: 'tool', args: {}}), 'done'], agent: {tools: [toolset]}});
  const {events} = await collect(it.run());
  await it.runner.close();
  const [answer] = getFunctionResponses(events[1]!);
  return {...answer?.response, ...(answer?.parts && {parts: answer.parts})};
}

/** The declarations of a server's tools. */
async function declarationsOf(...tools: readonly Record<string, unknown>[]): Promise<unknown[]> {
  await using peer = await HttpPeer.start(tools);
  const toolset = new MCPToolset(peer.params());
  const listed = await toolset.getTools();
  await toolset.close();
  return listed.map((tool) => tool._getDeclaration());
}

async function namesOf(tools: readonly string[], ...rest: readonly [(readonly string[])?, string?]): Promise<string[]> {
  await using peer = await HttpPeer.start(tools.map((name) => ({name})));
  const toolset = new MCPToolset(peer.params(), ...rest);
  try {
    return (await toolset.getTools()).map(({name}) => name);
  } finally {
    await toolset.close();
  }
}

const text = (said: string): unknown => ({type: 'text', text: said});

describe('an answer is told to the model', () => {
  const png = {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}};

  test.each<[string, Record<string, unknown>, Record<string, unknown>]>([
    ['one text by itself', {content: [text('noon')]}, {result: 'noon'}],
    ['several as a list', {content: [text('noon'), text('or so')]}, {result: ['noon', 'or so']}],
    ['nothing as null', {content: []}, {result: null}],
    ['no content as null', {}, {result: null}],
    ['structured content as it is', {structuredContent: {at: 12}, content: [text('{ "at": 12 }')]}, {at: 12}],
    ['structured content that wraps a value', {structuredContent: {result: [1, 2]}, content: [text('[1,2]')]}, {result: [1, 2]}],
    [
      'text beside structured content that says something else',
      {structuredContent: {at: 12}, content: [text('Noon!')]},
      {structuredContent: {at: 12}, content: ['Noon!']},
    ],
    [
      'an image beside the response',
      {content: [{type: 'image', mimeType: 'image/png', data: 'data:image/png;base64,iVBOR\nw0KGgo='}]},
      {result: {attachment: 1, mimeType: 'image/png'}, parts: [png]},
    ],
    [
      'an image beside structured content',
      {structuredContent: {at: 12}, content: [text('{"at":12}'), {type: 'image', mimeType: 'image/png', data: 'iVBORw0KGgo='}]},
      {structuredContent: {at: 12}, content: [{attachment: 1, mimeType: 'image/png'}], parts: [png]},
    ],
    [
      'sound beside the response',
      {content: [{type: 'audio', mimeType: 'audio/wav', data: 'UklGRg=='}]},
      {result: {attachment: 1, mimeType: 'audio/wav'}, parts: [{inlineData: {mimeType: 'audio/wav', data: 'UklGRg=='}}]},
    ],
    [
      'media that are none without them',
      {content: [{type: 'image', mimeType: 'image/png', data: '<svg/>'}]},
      {result: {mimeType: 'image/png', error: 'The server sent no base64 data'}},
    ],
    [
      'a resource with its address',
      {content: [{type: 'resource', resource: {uri: 'file:///a', mimeType: 'text/plain', text: 'A'}}]},
      {result: {uri: 'file:///a', mimeType: 'text/plain', text: 'A'}},
    ],
    [
      'a link, and what no one knows yet, as it came',
      {
        content: [
          {type: 'resource_link', uri: 'file:///a', name: 'a'},
          {type: 'smell', of: 'roses'},
        ],
      },
      {
        result: [
          {type: 'resource_link', uri: 'file:///a', name: 'a'},
          {type: 'smell', of: 'roses'},
        ],
      },
    ],
    ['what the first servers sent', {toolResult: {at: 12}}, {at: 12}],
    ['a failure as an error', {isError: true, content: [text('no'), text('such clock')]}, {error: 'no\nsuch clock'}],
    ['a failure without a word as one', {isError: true}, {error: 'The tool `tool` failed and did not say why'}],
    ['nothing but a note to the client as null', {content: null, _meta: {at: 12}}, {result: null}],
  ])('%s', async (_, result, told) => {
    expect(await responseOf(result)).toEqual(told);
  });

  test.each([
    ['content that is none', {content: 'nope', foo: 1}, 'content that is "nope" (string)'],
    ['blocks that are none', {content: [text('noon'), 'nope']}, 'content that is an array of 2'],
    ['something else', {task: {taskId: '1'}, at: 12}, 'an object with task, at'],
  ])('%s as an error', async (_, result, got) => {
    const error = `What the server answered to \`tool\` is no result: expected {content: [...]}, got ${got}`;
    expect(await responseOf(result)).toEqual({error});
  });
});

describe('structured content', () => {
  const outputSchema = {
    type: 'object',
    properties: {n: {type: 'number'}, list: {type: 'array', items: {$ref: '#/$defs/Name'}}},
    required: ['n'],
    $defs: {Name: {type: 'string'}},
  };

  test.each<[Record<string, unknown>, string]>([
    [{n: 'x'}, 'n: must be number, got "x" (string)'],
    [{}, 'n: is missing'],
    [{n: 1, list: ['a', 2]}, 'list[1]: must be string, got 2 (number)'],
  ])('%o that does not fit the outputSchema is an error', async (structuredContent, issue) => {
    const error = `What the server answered to \`tool\` does not fit its own outputSchema: ${issue}`;
    expect(await responseOf({content: [], structuredContent}, {outputSchema})).toEqual({error});
  });

  test.each<[string, unknown, Record<string, unknown>]>([
    ['fits', outputSchema, {n: 1, list: ['a'], more: true}],
    ['has a schema that is none', 'number', {n: 'x'}],
    ['has a schema that cannot be looked into', {type: 'object', properties: {n: {$ref: 'https://a.example/n.json'}}}, {n: 'x'}],
    ['has no schema', undefined, {n: 'x'}],
  ])('that %s is told as it is', async (_, schema, structuredContent) => {
    expect(await responseOf({content: [], structuredContent}, {outputSchema: schema})).toEqual(structuredContent);
  });

  test('that is missing is done without', async () => {
    expect(await responseOf({content: [text('noon')]}, {outputSchema})).toEqual({result: 'noon'});
  });
});

describe('a tool is declared', () => {
  test('with the schema that its server gives, frozen', async () => {
    const inputSchema = {
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      properties: {city: {type: 'string', minLength: 1}},
      required: ['city'],
      additionalProperties: false,
    };
    const [declared] = await declarationsOf({name: 'weather', description: 'The weather.', inputSchema});
    const {$schema: _, ...parametersJsonSchema} = inputSchema;
    expect(declared).toEqual({name: 'weather', description: 'The weather.', parametersJsonSchema});
    expect(Object.isFrozen(declared)).toBe(true);
  });

  test('by its title where it has no description, and without parameters where it has no schema', async () => {
    expect(await declarationsOf({name: 'now', title: 'The time', inputSchema: null})).toEqual([{name: 'now', description: 'The time'}]);
  });

  test('as one of objects where its schema does not say of what', async () => {
    const [declared] = await declarationsOf({name: 'now', inputSchema: {properties: {zone: {type: 'string'}}}});
    expect(declared).toMatchObject({parametersJsonSchema: {type: 'object', properties: {zone: {type: 'string'}}}});
  });

  test.each([
    ['refers to another document', {type: 'object', properties: {at: {$ref: 'https://schemas.example/time'}}}],
    ['has a type that there is not', {type: 'object', properties: {at: {type: 'datetime'}}}],
    ['is of no object', {type: 'array', items: {type: 'string'}}],
  ])('in words where its schema %s, and can be called', async (_, inputSchema) => {
    const declared = {
      name: 'now',
      description: `Its arguments, as a JSON Schema: ${JSON.stringify(inputSchema)}`,
      parametersJsonSchema: {type: 'object'},
    };
    expect(await declarationsOf({name: 'now', inputSchema})).toEqual([declared]);
  });
});

describe('names', () => {
  test('have the prefix that is given', async () => {
    expect(await namesOf(['b', 'a'], [], 'x')).toEqual(['x_a', 'x_b']);
  });

  test('are filtered with the prefix or without', async () => {
    expect(await namesOf(['a', 'b', 'c'], ['a', 'x_b'], 'x')).toEqual(['x_a', 'x_b']);
  });

  test('are filtered by a predicate, which sees the tool and the context of the run', async () => {
    await using peer = await HttpPeer.start([{name: 'read', annotations: {readOnlyHint: true}}, {name: 'write'}]);
    const seen: unknown[] = [];
    const toolset = new MCPToolset(peer.params(), (tool, context) => {
      seen.push(context?.userId);
      return 'annotations' in tool && (tool.annotations as {readOnlyHint?: boolean}).readOnlyHint === true;
    });
    const it = await stage({steps: ['hello'], agent: {tools: [toolset]}});
    await collect(it.run());
    expect(it.model.requests[0]?.config?.tools).toEqual([{functionDeclarations: [expect.objectContaining({name: 'read'})]}]);
    expect(seen).toEqual(['u', 'u']);
    await it.runner.close();
  });

  test.each<[string, () => unknown, string]>([
    [
      'throws',
      () => {
        throw new Error('no filter');
      },
      'no filter',
    ],
    ['gives a promise', async () => false, 'Expected `toolFilter` to be a function that gives true or false, got an object (Promise)'],
  ])('whose predicate %s are an error of the run that names the server', async (_, filter, message) => {
    await using peer = await HttpPeer.start([{name: 'read'}]);
    const it = await stage({steps: ['hello'], agent: {tools: [new MCPToolset(peer.params(), filter as () => boolean)]}});
    const {error} = await collect(it.run());
    await it.runner.close();
    const where = `the toolset of the MCP server at http://127.0.0.1:${peer.port}/mcp`;
    expect(error).toMatchObject({code: 'HOOK_FAILED', hook: 'toolFilter', message: `\`toolFilter\` of \`${where}\` threw: ${message}`});
    expect(it.model.calls).toBe(0);
  });

  test.each(['files/read', '2fa', 'größe', 'a'.repeat(129), ''])('that no model can call are an error that says so: %s', async (name) => {
    const message = expect.stringMatching(/^No model can call the tool ".*" of the MCP server at http.*: a letter or "_" and then/);
    await expect(namesOf([name])).rejects.toMatchObject({code: 'MCP_BAD_TOOLS', message});
  });

  test('are cured by a prefix, or left out', async () => {
    expect(await namesOf(['2fa'], [], 'auth')).toEqual(['auth_2fa']);
    expect(await namesOf(['files/read', 'ok'], ['ok'])).toEqual(['ok']);
  });

  test('that two servers have are an error of the run, and a prefix cures it', async () => {
    await using one = await HttpPeer.start([{name: 'read'}]);
    await using two = await HttpPeer.start([{name: 'read'}]);
    const toolset = new MCPToolset(one.params());
    const clash = await stage({steps: ['hello'], agent: {tools: [toolset, new MCPToolset(two.params())]}});
    expect((await collect(clash.run())).error).toMatchObject({code: 'INVALID_OPTION', message: expect.stringContaining('different names')});
    await clash.runner.close();
    const cured = await stage({steps: ['hello'], agent: {tools: [toolset, new MCPToolset(two.params(), [], 'two')]}});
    expect((await collect(cured.run())).events.map(line)).toEqual(['root: "hello"']);
    await cured.runner.close();
  });
});

test.each([
  [undefined, 'connectionParams'],
  [{type: 'SseConnectionParams', url: 'http://a'}, 'connectionParams.type'],
  [{type: 'StdioConnectionParams'}, 'connectionParams.serverParams'],
  [{type: 'StdioConnectionParams', serverParams: {command: ''}}, 'connectionParams.serverParams.command'],
  [{type: 'StdioConnectionParams', serverParams: {command: 'a', args: 'b'}}, 'connectionParams.serverParams.args'],
  [{type: 'StdioConnectionParams', serverParams: {command: 'a', env: {b: 1}}}, 'connectionParams.serverParams.env'],
  [{type: 'StdioConnectionParams', serverParams: {command: 'a', stderr: 'loud'}}, 'connectionParams.serverParams.stderr'],
  [{type: 'StdioConnectionParams', serverParams: {command: 'a'}, timeout: 0}, 'connectionParams.timeout'],
  [{type: 'StreamableHTTPConnectionParams', url: 'ftp://a'}, 'connectionParams.url'],
  [{type: 'StreamableHTTPConnectionParams', url: 'http://user:hunter2@a'}, 'connectionParams.url'],
  [{type: 'StreamableHTTPConnectionParams', url: 'http://a', headers: {}}, 'connectionParams.headers'],
  [{type: 'StreamableHTTPConnectionParams', url: 'http://a', header: {a: 1}}, 'connectionParams.header'],
  [{type: 'StreamableHTTPConnectionParams', url: 'http://a', transportOptions: {header: {}}}, 'connectionParams.transportOptions.header'],
])('connection parameters that cannot be used are named: %o', (params, option) => {
  const error = catchError(() => new MCPToolset(params as unknown as MCPConnectionParams));
  expect(error).toMatchObject({code: 'INVALID_OPTION', option});
  expect(String(error)).not.toContain('hunter2');
});

test('a filter, a prefix and options that cannot be used are named', () => {
  const params: MCPConnectionParams = {type: 'StreamableHTTPConnectionParams', url: 'http://a'};
  const make = (...rest: readonly unknown[]): unknown =>
    catchError(() => new MCPToolset(params, ...(rest as [string[], string, MCPToolsetOptions])));
  expect(make('read')).toMatchObject({option: 'MCPToolset.toolFilter'});
  expect(make([], '')).toMatchObject({option: 'MCPToolset.prefix'});
  expect(make([], 'p', {timeoutMs: 0})).toMatchObject({option: 'MCPToolset.options.timeoutMs'});
  expect(make([], 'p', {timeout: 5})).toMatchObject({option: 'MCPToolset.options.timeout'});
});

test('the server is told the name and the version of this package', async () => {
  await using peer = await HttpPeer.start([]);
  const greeted = peer.next('initialize');
  const toolset = new MCPToolset(peer.params());
  await toolset.getTools();
  const {version} = (await import('../../package.json', {with: {type: 'json'}})).default;
  expect((await greeted).message.params?.['clientInfo']).toEqual({name: 'sluice', version});
  await toolset.close();
});

function catchError(work: () => unknown): unknown {
  try {
    return work();
  } catch (error) {
    return error;
  }
}
