import {describe, expect, test} from 'vitest';
import {createEvent, HookError, type Part} from '../../lib/index.ts';
import {
  BaseMemoryService,
  type MemoryEntry,
  type SearchMemoryRequest,
  type SearchMemoryResponse,
} from '../../lib/memory/base-memory-service.ts';
import {InMemoryMemoryService} from '../../lib/memory/in-memory-memory-service.ts';
import {LoadMemoryTool} from '../../lib/tools/load-memory-tool.ts';
import {PreloadMemoryTool} from '../../lib/tools/preload-memory-tool.ts';
import {FunctionTool} from '../../lib/tools/function-tool.ts';
import {functionCalls} from '../../lib/testing/index.ts';
import {expectValid, lines, stage} from '../stories/kit.ts';

/** Gives the same memories to every search, and keeps what it was asked. */
class FixedMemoryService extends BaseMemoryService {
  readonly requests: SearchMemoryRequest[] = [];
  readonly #memories: readonly MemoryEntry[] | Error;

  constructor(memories: readonly MemoryEntry[] | Error) {
    super();
    this.#memories = memories;
  }

  override async addSessionToMemory(): Promise<void> {}

  override async searchMemory(request: SearchMemoryRequest): Promise<SearchMemoryResponse> {
    this.requests.push(request);
    if (this.#memories instanceof Error) throw this.#memories;
    return {memories: [...this.#memories]};
  }
}

const memory = (author: string, ...parts: Part[]): MemoryEntry => ({
  content: {role: 'user', parts},
  author,
  timestamp: '2026-01-15T10:30:00.000Z',
});
const memories: MemoryEntry[] = [
  memory('user', {text: 'I like turquoise.'}),
  memory('root', {text: 'hm', thought: true}, {text: 'Noted.'}, {inlineData: {mimeType: 'image/png', data: ''}}, {text: 'Bye.'}),
  {content: {parts: [{text: 'No more is known.'}]}},
];

describe('load_memory', () => {
  const call = functionCalls({id: '1', name: 'load_memory', args: {query: 'colour'}});

  test('tells the model what is remembered, as text without thoughts', async () => {
    const memoryService = new FixedMemoryService(memories);
    const tools = [new LoadMemoryTool()];
    const it = await stage({steps: [call, 'Turquoise.'], agent: {instruction: 'Be brief.', tools}, runner: {memoryService}});
    const recalled = [
      {content: 'I like turquoise.', author: 'user', timestamp: '2026-01-15T10:30:00.000Z'},
      {content: 'Noted. Bye.', author: 'root', timestamp: '2026-01-15T10:30:00.000Z'},
      {content: 'No more is known.'},
    ];
    const said = [
      'root: load_memory({"query":"colour"})',
      `root: load_memory=${JSON.stringify({memories: recalled})}`,
      'root: "Turquoise."',
    ];
    expect(await lines(it.run('My colour?'))).toEqual(said);
    expect(memoryService.requests).toEqual([{appName: 'app', userId: 'u', query: 'colour'}]);
    expect(it.model.requests.map(({config}) => config.systemInstruction)).toMatchInlineSnapshot(`
      [
        "Be brief.

      You remember earlier conversations with the user. Where a question is about something that this one does not tell, call \`load_memory\` with a query first.",
        "Be brief.

      You remember earlier conversations with the user. Where a question is about something that this one does not tell, call \`load_memory\` with a query first.",
      ]
    `);
    expect(it.model.requests[0]?.config.tools).toMatchInlineSnapshot(`
      [
        {
          "functionDeclarations": [
            {
              "description": "Finds what the user said in earlier conversations.",
              "name": "load_memory",
              "parametersJsonSchema": {
                "properties": {
                  "query": {
                    "description": "What to look for, in plain words.",
                    "type": "string",
                  },
                },
                "required": [
                  "query",
                ],
                "type": "object",
              },
            },
          ],
        },
      ]
    `);
    expectValid(await it.stored());
  });

  test('finds what an earlier session of the user said, and of nobody else', async () => {
    const memoryService = new InMemoryMemoryService();
    const session = {id: 'earlier', appName: 'app', state: {}, lastUpdateTime: 0};
    const event = (text: string) => createEvent({author: 'user', timestamp: 0, content: {role: 'user', parts: [{text}]}});
    await memoryService.addSessionToMemory({...session, userId: 'u', events: [event('My colour is turquoise')]});
    await memoryService.addSessionToMemory({...session, userId: 'other', events: [event('My colour is red')]});
    const it = await stage({steps: [call, 'Turquoise.'], agent: {tools: [new LoadMemoryTool()]}, runner: {memoryService}});
    expect((await lines(it.run()))[1]).toBe(
      'root: load_memory={"memories":[{"content":"My colour is turquoise","author":"user","timestamp":"1970-01-01T00:00:00.000Z"}]}',
    );
  });

  test('is answered by an error without a memory service, or where that fails, and the run goes on', async () => {
    const failing = new FixedMemoryService(new Error('the index is gone'));
    for (const [services, message] of [
      [{}, 'Expected `memoryService` to be a BaseMemoryService of the runner, to load from, got undefined'],
      [{memoryService: failing}, 'the index is gone'],
    ] as const) {
      const it = await stage({steps: [call, 'No idea.'], agent: {tools: [new LoadMemoryTool()]}, runner: services});
      expect((await lines(it.run())).slice(1)).toEqual([`root: load_memory=${JSON.stringify({error: message})}`, 'root: "No idea."']);
    }
  });

  test('says nothing of memories without a memory service', async () => {
    const it = await stage({steps: ['Hi.'], agent: {tools: [new LoadMemoryTool()]}, runner: {}});
    await lines(it.run());
    expect(it.model.requests[0]?.config.systemInstruction).toBeUndefined();
  });

  test('refuses a call without a query, and does not search', async () => {
    const memoryService = new FixedMemoryService(memories);
    const bad = functionCalls({id: '1', name: 'load_memory', args: {}}, {id: '2', name: 'load_memory', args: {query: 7}});
    const it = await stage({steps: [bad, 'Sorry.'], agent: {tools: [new LoadMemoryTool()]}, runner: {memoryService}});
    const [, answers = ''] = await lines(it.run());
    expect(answers.match(/"error"/g)?.length).toBe(2);
    expect(memoryService.requests).toEqual([]);
  });
});

describe('preload_memory', () => {
  test('puts what is remembered into the instructions of every request, and is not told to the model as a tool', async () => {
    const memoryService = new FixedMemoryService(memories);
    // The one that has to be called is stood in for: it would ask the same service.
    const loading = new FunctionTool({name: 'load_memory', description: 'Loads.', parameters: {type: 'object'}, execute: () => 'nothing'});
    const tools = [new PreloadMemoryTool(), loading];
    const steps = [functionCalls({id: '1', name: 'load_memory', args: {query: 'x'}}), 'Turquoise.'];
    const it = await stage({steps, agent: {instruction: 'Be brief.', tools}, runner: {memoryService}});
    await lines(it.run('My colour?'));
    expect(memoryService.requests).toEqual([1, 2].map(() => ({appName: 'app', userId: 'u', query: 'My colour?'})));
    const [first, second] = it.model.requests.map(({config}) => config);
    expect(first?.systemInstruction).toMatchInlineSnapshot(`
      "Be brief.

      This was said in earlier conversations with the user. Use it where it helps to answer.
      <PAST_CONVERSATIONS>
      Time: 2026-01-15T10:30:00.000Z
      user: I like turquoise.
      Time: 2026-01-15T10:30:00.000Z
      root: Noted. Bye.
      No more is known.
      </PAST_CONVERSATIONS>"
    `);
    expect(second?.systemInstruction).toEqual(first?.systemInstruction);
    const declared = first?.tools?.map((tool) =>
      'functionDeclarations' in tool ? tool.functionDeclarations?.map(({name}) => name) : tool,
    );
    expect(declared).toEqual([['load_memory']]);
    expect((await it.stored()).map(({author}) => author)).toEqual(['user', 'root', 'root', 'root']);
  });

  test('changes nothing where nothing is remembered, nothing was said, or there is no service', async () => {
    const silent: MemoryEntry[] = [
      memory('root', {text: 'hm', thought: true}),
      memory('user', {inlineData: {mimeType: 'image/png', data: ''}}),
    ];
    for (const [found, parts] of [
      [[], [{text: 'Hi'}]],
      [silent, [{text: 'Hi'}]],
      [undefined, [{text: 'Hi'}]],
      [memories, [{inlineData: {mimeType: 'image/png', data: ''}}]],
    ] as const) {
      const services = found ? {memoryService: new FixedMemoryService(found)} : {};
      const it = await stage({steps: ['Hi.'], agent: {tools: [new PreloadMemoryTool()]}, runner: services});
      expect(await lines(it.run('', {newMessage: {role: 'user', parts: [...parts]}}))).toEqual(['root: "Hi."']);
      expect(it.model.requests[0]?.config.systemInstruction).toBeUndefined();
    }
  });

  test('a service that fails ends the run with its error, and the session stays valid', async () => {
    const cause = new Error('the index is gone');
    const memoryService = new FixedMemoryService(cause);
    const it = await stage({steps: ['Hi.'], agent: {tools: [new PreloadMemoryTool()]}, runner: {memoryService}});
    const error: unknown = await lines(it.run()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({hook: 'processLlmRequest', cause});
    expect(it.model.calls).toBe(0);
    expectValid(await it.stored());
  });

  test('a model that calls it is told that it is no function', async () => {
    const steps = [functionCalls({id: '1', name: 'preload_memory', args: {}}), 'Hi.'];
    const it = await stage({steps, agent: {tools: [new PreloadMemoryTool()]}});
    expect((await lines(it.run()))[1]).toBe(
      'root: preload_memory={"error":"`preload_memory` is no function: what there is to remember stands in the instructions"}',
    );
  });
});

describe('a service that answers', () => {
  const answer = 'Expected `the answer of memoryService.searchMemory` to be {memories: [...]}';
  const entry = 'Expected `memories[0] in the answer of memoryService.searchMemory` to be a memory, {content: {parts: [...]}}';
  test.each<[string, unknown, string]>([
    ['null', null, `${answer}, got null`],
    ['no memories', {}, `${answer}, got an object (Object)`],
    ['an empty memory', {memories: [null]}, `${entry}, got null`],
    ['a memory without content', {memories: [{}]}, `${entry}, got an object (Object)`],
    ['parts that are none', {memories: [{content: {parts: [null]}}]}, `${entry}, got an object (Object)`],
  ])('%s is named with its method', async (_name, given, message) => {
    const memoryService = Object.assign(new FixedMemoryService([]), {searchMemory: async () => given as never});
    const call = functionCalls({id: '1', name: 'load_memory', args: {query: 'x'}});
    const loading = await stage({steps: [call, 'Hi.'], agent: {tools: [new LoadMemoryTool()]}, runner: {memoryService}});
    expect((await lines(loading.run()))[1]).toBe(`root: load_memory=${JSON.stringify({error: message})}`);
    const preloading = await stage({steps: ['Hi.'], agent: {tools: [new PreloadMemoryTool()]}, runner: {memoryService}});
    await expect(lines(preloading.run())).rejects.toMatchObject({hook: 'processLlmRequest', cause: {code: 'INVALID_OPTION', message}});
  });
});
