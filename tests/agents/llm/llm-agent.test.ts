import {describe, expect, test, vi} from 'vitest';
import {
  BaseTool,
  BaseToolset,
  FunctionTool,
  InMemoryRunner,
  InvalidOptionError,
  LlmAgent,
  SequentialAgent,
  StreamingMode,
  type FunctionDeclaration,
  type LlmAgentConfig,
  type LlmResponse,
  type ToolProcessLlmRequest,
} from 'sluice';
import {collect, deltas, functionCalls, ScriptedLlm, text} from 'sluice/testing';
import {z} from 'zod';
import {line, lines, stage} from '../../stories/kit.ts';

const tool = (name: string, execute: () => unknown = () => 'ok') => new FunctionTool({name, description: `Does ${name}.`, execute});

describe('instruction', () => {
  test('a string is filled in from the state for each request', async () => {
    const it = await stage({
      steps: [functionCalls({name: 'learn'}), 'done'],
      agent: {
        instruction: 'You help {user:name}. {mood?}',
        tools: [new FunctionTool({name: 'learn', description: 'Learns.', execute: (_args, {state}) => state.set('mood', 'Be glad.')})],
      },
    });
    await collect(it.run('hi', {stateDelta: {'user:name': 'Ada'}}));
    expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual(['You help Ada. ', 'You help Ada. Be glad.']);
  });

  test('a missing key ends the run, naming key and agent, before the model is asked', async () => {
    const it = await stage({steps: ['never'], agent: {instruction: 'For {nobody}'}});
    expect((await collect(it.run())).error).toMatchObject({
      name: 'InvalidOptionError',
      message: expect.stringMatching(/nobody.*root|root.*nobody/),
    });
    expect(it.model.calls).toBe(0);
  });

  test('a function is asked for each request and used as it is', async () => {
    const it = await stage({
      steps: ['done'],
      agent: {instruction: async ({agentName, state}) => `${agentName} {raw} ${String(state.get('n'))}`},
    });
    await collect(it.run('hi', {stateDelta: {n: 3}}));
    expect(it.model.requests[0]?.config.systemInstruction).toBe('root {raw} 3');
  });
});

test('generateContentConfig goes with every request, and mode ANY holds for the first step only', async () => {
  const toolConfig = {functionCallingConfig: {mode: 'ANY' as never}, includeServerSideToolInvocations: true} as NonNullable<
    LlmAgentConfig['generateContentConfig']
  >['toolConfig'] &
    object;
  const it = await stage({
    steps: [functionCalls({name: 'a'}), 'done'],
    agent: {tools: [tool('a')], generateContentConfig: {temperature: 0.2, toolConfig}},
  });
  await collect(it.run());
  expect(it.model.requests.map(({config}) => [config.temperature, config.toolConfig])).toEqual([
    [0.2, toolConfig],
    [0.2, {includeServerSideToolInvocations: true}],
  ]);
});

test("includeContents 'none' shows the model the current turn only", async () => {
  const it = await stage({steps: ['one', functionCalls({name: 'a'}), 'two'], agent: {tools: [tool('a')], includeContents: 'none'}});
  await collect(it.run('first'));
  await collect(it.run('second'));
  expect(it.model.requests.map(({contents}) => contents.map(({parts}) => Object.keys(parts?.[0] ?? {})[0]))).toEqual([
    ['text'],
    ['text'],
    ['text', 'functionCall', 'functionResponse'],
  ]);
  expect(it.model.requests[2]?.contents[0]?.parts).toEqual([{text: 'second'}]);
});

test('outputKey takes the text of the final reply, without thoughts, and not of one that is cut', async () => {
  const thinking: LlmResponse = {content: {role: 'model', parts: [{text: 'hm', thought: true}, {text: 'Paris'}]}};
  const it = await stage({
    steps: [functionCalls({name: 'a'}), thinking, {...text('cut'), finishReason: 'MAX_TOKENS'}],
    agent: {tools: [tool('a')], outputKey: 'city'},
  });
  await collect(it.run());
  expect(await it.state()).toEqual({city: 'Paris'});
  await collect(it.run());
  expect(await it.state()).toEqual({city: 'Paris'});
});

describe('model callbacks', () => {
  test('run in order around every call; the first result wins', async () => {
    const order: string[] = [];
    const it = await stage({
      steps: ['asked', new Error('down')],
      agent: {
        beforeModelCallback: [({request}) => void order.push(`before ${request.contents.length}`), () => void order.push('before too')],
        afterModelCallback: [
          ({response}) => void order.push(`after ${response.content?.parts?.[0]?.text}`),
          ({response}) => (response.content ? text('changed') : undefined),
        ],
        onModelErrorCallback: ({error, request}) => (order.push(`error ${error.message} ${request.model}`), text('saved')),
      },
    });
    expect(await lines(it.run())).toEqual(['root: "changed"']);
    expect(await lines(it.run())).toEqual(['root: "saved"']);
    expect(order).toEqual(['before 1', 'before too', 'after asked', 'before 3', 'before too', 'error down scripted']);
  });

  test('a response from beforeModelCallback stands in for the model, and counts no call', async () => {
    const it = await stage({
      steps: ['never'],
      agent: {beforeModelCallback: ({context}) => (context.state.set('seen', true), text('cached'))},
    });
    const {events, outcome} = await collect(it.run());
    expect(events.map(line)).toEqual(['root: "cached"']);
    expect(outcome.llmCalls).toBe(0);
    expect(await it.state()).toEqual({seen: true});
  });

  test('beforeModelCallback may change the request; the session stays as it is', async () => {
    const it = await stage({
      steps: ['done'],
      agent: {
        beforeModelCallback: ({request}) => {
          const part = request.contents[0]?.parts?.[0];
          if (part) part.text = 'changed';
          request.config.temperature = 1;
          return undefined;
        },
      },
    });
    await collect(it.run('as said'));
    expect(it.model.requests[0]).toMatchObject({contents: [{parts: [{text: 'changed'}]}], config: {temperature: 1}});
    expect((await it.stored()).map(line)[0]).toBe('user: "as said"');
  });

  test('afterModelCallback sees partial responses too', async () => {
    const it = await stage({
      steps: [deltas('a', 'b')],
      agent: {
        afterModelCallback: ({response}) => (response.partial ? {...response, content: {role: 'model', parts: [{text: '*'}]}} : undefined),
      },
      runConfig: {streamingMode: StreamingMode.SSE},
    });
    expect(await lines(it.run())).toEqual(['root: "*" [partial]', 'root: "*" [partial]', 'root: "ab"']);
  });
});

describe('agent callbacks', () => {
  test('content before the agent stands in for it; content after it is added', async () => {
    const before = await stage({
      steps: ['never'],
      agent: {beforeAgentCallback: () => ({parts: [{text: 'no need'}]}), afterAgentCallback: () => ({parts: [{text: 'unseen'}]})},
    });
    expect(await lines(before.run())).toEqual(['root: "no need"']);
    const after = await stage({steps: ['done'], agent: {afterAgentCallback: [() => undefined, () => ({parts: [{text: 'and more'}]})]}});
    expect(await lines(after.run())).toEqual(['root: "done"', 'root: "and more"']);
  });

  test('state that they write is stored, with or without content', async () => {
    const it = await stage({
      steps: ['done'],
      agent: {beforeAgentCallback: ({state}) => state.set('a', 1), afterAgentCallback: ({state}) => state.set('b', 2)},
    });
    await collect(it.run());
    expect(await it.state()).toEqual({a: 1, b: 2});
  });
});

describe('tools', () => {
  class Set extends BaseToolset {
    readonly ready = Promise.withResolvers<void>();
    closed = 0;
    readonly #names: string[];
    constructor(...names: string[]) {
      super();
      this.#names = names;
    }
    async getTools() {
      await this.ready.promise;
      return this.#names.map((name) => tool(name));
    }
    async close() {
      this.closed++;
    }
  }
  const declared = (config: {tools?: unknown} | undefined) =>
    ((config?.tools ?? []) as {functionDeclarations?: FunctionDeclaration[]}[]).flatMap(({functionDeclarations}) =>
      functionDeclarations?.map(({name}) => name),
    );

  test('toolsets are listed in the order of the agent, whichever answers first, called, and closed with the runner', async () => {
    for (const first of [0, 1]) {
      const sets = [new Set('a1', 'a2'), new Set('b1')];
      const it = await stage({steps: [functionCalls({name: 'b1'}), 'done'], agent: {tools: [sets[0]!, tool('mine'), sets[1]!]}});
      const reading = lines(it.run());
      sets[first]?.ready.resolve();
      await vi.waitUntil(() => true);
      sets[1 - first]?.ready.resolve();
      expect(await reading).toEqual(['root: b1({})', 'root: b1={"result":"ok"}', 'root: "done"']);
      expect(it.model.requests.map(({config}) => declared(config))).toEqual([
        ['a1', 'a2', 'mine', 'b1'],
        ['a1', 'a2', 'mine', 'b1'],
      ]);
      await it.runner.close();
      await it.runner.close();
      expect(sets.map(({closed}) => closed)).toEqual([1, 1]);
    }
  });

  test('a toolset that brings a second tool of one name ends the run with a clear error', async () => {
    const set = new Set('mine');
    set.ready.resolve();
    const it = await stage({steps: ['never'], agent: {tools: [tool('mine'), set]}});
    expect((await collect(it.run())).error).toMatchObject({name: 'InvalidOptionError', message: expect.stringContaining('"mine"')});
  });

  test('a tool may shape the request beyond its declaration', async () => {
    class Search extends BaseTool {
      override async processLlmRequest({llmRequest}: ToolProcessLlmRequest): Promise<void> {
        llmRequest.config.tools = [...(llmRequest.config.tools ?? []), {googleSearch: {}}];
      }
      async runAsync(): Promise<unknown> {
        return undefined;
      }
    }
    const it = await stage({steps: ['done'], agent: {tools: [new Search({name: 'search', description: ''})]}});
    await collect(it.run());
    expect(it.model.requests[0]?.config.tools).toEqual([{googleSearch: {}}]);
  });

  test('media that a tool returns go as parts of the response', async () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}};
    const it = await stage({steps: [functionCalls({name: 'draw'}), 'done'], agent: {tools: [tool('draw', () => image)]}});
    await collect(it.run());
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.functionResponse).toMatchObject({
      name: 'draw',
      response: {result: expect.anything()},
      parts: [image],
    });
  });
});

test.each([
  ['no name', {name: undefined}, /agent\.name/],
  ['a name that is no identifier', {name: 'two words'}, /agent\.name.*two words/],
  ['the name user', {name: 'user'}, /agent\.name/],
  ['an unknown option', {instructions: 'x'}, /instructions/],
  ['a model that nobody knows', {model: 'gpt-7'}, /gpt-7/],
  ['a model that is none', {model: {}}, /model/],
  ['a tool that is none', {tools: [{name: 'x'}]}, /tools/],
  ['two tools of one name', {tools: [tool('twice'), tool('twice')]}, /twice/],
  ['an instruction that is none', {instruction: 7}, /instruction.*7/],
  ['a callback that is none', {beforeModelCallback: 'x'}, /beforeModelCallback/],
  ['a system instruction in the config', {generateContentConfig: {systemInstruction: 'x'}}, /systemInstruction.*instruction/],
  ['a wrong includeContents', {includeContents: 'all'}, /includeContents/],
])('an agent with %s is refused at construction', (_, options, message) => {
  const config = {name: 'root', model: new ScriptedLlm(), ...options} as unknown as LlmAgentConfig;
  expect(() => new LlmAgent(config)).toThrow(InvalidOptionError);
  expect(() => new LlmAgent(config)).toThrow(message);
});

test('an agent without a model asks that of the nearest agent above that has one', async () => {
  const model = new ScriptedLlm({steps: [functionCalls({name: 'transfer_to_agent', args: {agentName: 'steps'}}), 'From the leaf.']});
  const leaf = new LlmAgent({name: 'leaf'});
  const steps = new SequentialAgent({name: 'steps', subAgents: [leaf]});
  const root = new LlmAgent({name: 'root', model, subAgents: [steps]});
  expect([leaf.model, leaf.canonicalModel, root.canonicalModel]).toEqual([undefined, model, model]);
  const it = await stage({runner: {agent: root}});
  expect((await lines(it.run('hi'))).at(-1)).toBe('leaf: "From the leaf."');
  expect(model.requests.map((request) => request.model)).toEqual([model.model, model.model]);
});

test('a runner refuses a tree in which an agent has no model to ask', () => {
  const leaf = new LlmAgent({name: 'leaf'});
  const tree = new SequentialAgent({name: 'steps', subAgents: [leaf]});
  expect(() => new InMemoryRunner({agent: tree})).toThrow(/leaf\.model.*or at an agent above/);
  expect(() => leaf.canonicalModel).toThrow(InvalidOptionError);
  const own = new LlmAgent({name: 'own', model: new ScriptedLlm(), subAgents: [tree]});
  expect(() => new InMemoryRunner({agent: own})).not.toThrow();
});

test('a tree refuses an agent under two parents and two agents of one name', () => {
  const leaf = (name: string) => new LlmAgent({name, model: new ScriptedLlm()});
  const shared = leaf('shared');
  const parent = new LlmAgent({name: 'parent', model: new ScriptedLlm(), subAgents: [shared, leaf('other')]});
  expect(parent.findAgent('shared')?.rootAgent).toBe(parent);
  expect(() => new LlmAgent({name: 'second', model: new ScriptedLlm(), subAgents: [shared]})).toThrow(/shared.*parent/);
  expect(() => new LlmAgent({name: 'same', model: new ScriptedLlm(), subAgents: [leaf('a'), leaf('a')]})).toThrow(/one name/);
});

test('arguments that a schema transforms reach the body transformed', async () => {
  const seen: unknown[] = [];
  const it = await stage({
    steps: [functionCalls({name: 'when', args: {at: '2026-01-02'}}), 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'when',
          description: 'When.',
          parameters: z.object({at: z.iso.date(), n: z.number().default(2)}),
          execute: (args) => void seen.push(args),
        }),
      ],
    },
  });
  await collect(it.run());
  expect(seen).toEqual([{at: '2026-01-02', n: 2}]);
});
