import {expect, test} from 'vitest';
import {
  BaseAgent,
  BaseTool,
  LlmAgent,
  LongRunningFunctionTool,
  LoopAgent,
  type Content,
  type Event,
  type InvocationContext,
  type ToolProcessLlmRequest,
} from 'sluice';
import {ContextFilterPlugin, type ContextFilterPluginOptions} from 'sluice/plugins';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {line, lines, stage} from '../stories/kit.ts';
import {echo} from './kit.ts';

const brief = (contents: readonly Content[]) =>
  contents.map(({role, parts = []}) =>
    [
      role,
      ...parts.map((part) => part.text ?? (part.functionCall ? `${part.functionCall.name}()` : `=${part.functionResponse?.name}`)),
    ].join(' '),
  );

/** Three turns, the first two with a tool; what the model is asked each time. */
async function talk(options: ContextFilterPluginOptions) {
  const it = await stage({
    steps: [functionCalls({name: 'echo'}), 'one', functionCalls({name: 'echo'}, {name: 'echo'}), 'two', 'three'],
    agent: {tools: [echo]},
    runner: {plugins: [new ContextFilterPlugin(options)]},
  });
  for (const said of ['first', 'second', 'third']) await lines(it.run(said));
  it.model.assertComplete();
  return {requests: it.model.requests.map(({contents}) => brief(contents)), stored: (await it.stored()).map(line)};
}

const first = ['user first', 'model echo()', 'user =echo', 'model one'];
const second = ['user second', 'model echo() echo()', 'user =echo =echo', 'model two'];

test.each([
  [1, [second.slice(0, 1), second.slice(0, 3), ['user third']]],
  [
    2,
    [
      [...first, ...second.slice(0, 1)],
      [...first, ...second.slice(0, 3)],
      [...second, 'user third'],
    ],
  ],
  [
    9,
    [
      [...first, ...second.slice(0, 1)],
      [...first, ...second.slice(0, 3)],
      [...first, ...second, 'user third'],
    ],
  ],
])('numInvocationsToKeep %i sends the latest, each with all its calls and responses', async (numInvocationsToKeep, requests) => {
  const told = await talk({numInvocationsToKeep});
  expect(told.requests).toEqual([first.slice(0, 1), first.slice(0, 3), ...requests]);
  expect(told.stored).toHaveLength(10);
});

test('what the user says in several contents in a row is one invocation', async () => {
  const it = await stage({
    steps: [new Error('down'), 'hello', 'bye'],
    runner: {plugins: [new ContextFilterPlugin({numInvocationsToKeep: 2})]},
  });
  for (const said of ['first', 'again', 'third']) await collect(it.run(said));
  expect(it.model.requests.map(({contents}) => brief(contents)).at(-1)).toEqual(['user first', 'user again', 'model hello', 'user third']);
});

test('customFilter says what is sent; a call without its response goes, and the other way round', async () => {
  const {requests} = await talk({customFilter: (contents) => contents.slice(-3)});
  expect(requests).toEqual([['user first'], first.slice(0, 3), ['user second'], second.slice(0, 3), ['user third']]);
});

test('customFilter that leaves no words of the user gets the latest back, and the calls under way with their responses', async () => {
  const {requests} = await talk({customFilter: (contents) => contents.slice(-1)});
  expect(requests).toEqual([['user first'], ['user first'], ['user second'], ['user second'], ['user third']]);
});

test('what another agent said in between begins no invocation', async () => {
  class Pair extends BaseAgent {
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      for (const agent of this.subAgents) yield* agent.runAsync(context);
    }
  }
  const [one, two] = [new ScriptedLlm({steps: ['a1', 'a2']}), new ScriptedLlm({steps: ['b1', 'b2']})];
  const agent = new Pair({
    name: 'pair',
    subAgents: [new LlmAgent({name: 'one', model: one}), new LlmAgent({name: 'two', model: two})],
  });
  const it = await stage({runner: {agent, plugins: [new ContextFilterPlugin({numInvocationsToKeep: 1})]}});
  await lines(it.run('first'));
  await lines(it.run('second'));
  expect(brief(one.requests[1]?.contents ?? [])).toEqual(['user second']);
  expect(brief(two.requests[1]?.contents ?? [])).toEqual(['user second', 'user [one] said: a2']);
});

test('customFilter that empties the list it is given gets the latest words of the user back', async () => {
  const {requests} = await talk({
    customFilter: (contents) => {
      contents.length = 0;
      return contents;
    },
  });
  expect(requests.at(-1)).toEqual(['user third']);
});

test('customFilter may change contents, and gets what numInvocationsToKeep has left', async () => {
  const seen: string[][] = [];
  const {requests, stored} = await talk({
    numInvocationsToKeep: 1,
    customFilter: async (contents) => {
      seen.push(brief(contents));
      for (const {parts = []} of contents) for (const part of parts) if (part.text) part.text = part.text.toUpperCase();
      return contents;
    },
  });
  expect(seen.at(-1)).toEqual(['user third']);
  expect(requests.at(-1)).toEqual(['user THIRD']);
  expect(stored).toContain('user: "third"');
});

test.each([
  [
    'throws',
    () => {
      throw new Error('no filter');
    },
    'threw: no filter',
  ],
  ['gives no list', () => undefined as never, 'a function that gives an array of contents, got undefined'],
])('a customFilter that %s is an error of its hook', async (_, customFilter, message) => {
  const it = await stage({runner: {plugins: [new ContextFilterPlugin({customFilter})]}});
  const {error} = await collect(it.run());
  expect(error).toMatchObject({hook: 'beforeModelCallback', message: expect.stringContaining(message)});
  expect(it.model.calls).toBe(0);
});

test('what a tool adds behind its response belongs to the invocation under way', async () => {
  class Files extends BaseTool {
    constructor() {
      super({name: 'files', description: 'Shows files.'});
    }

    override async runAsync(): Promise<unknown> {
      return 'shown';
    }

    override async processLlmRequest({llmRequest}: ToolProcessLlmRequest): Promise<void> {
      if (llmRequest.contents.length > 1) llmRequest.contents.push({role: 'user', parts: [{text: 'a file'}]});
    }
  }
  const it = await stage({
    steps: ['one', functionCalls({name: 'files'}), 'two'],
    agent: {tools: [new Files()]},
    runner: {plugins: [new ContextFilterPlugin({numInvocationsToKeep: 1})]},
  });
  for (const said of ['first', 'second']) await lines(it.run(said));
  expect(brief(it.model.requests.at(-1)?.contents ?? [])).toEqual(['user second', 'model files()', 'user =files', 'user a file']);
});

test('a model that is asked to go on is still told what it was asked', async () => {
  const model = new ScriptedLlm({steps: ['one', 'two', 'three']});
  const writer = new LlmAgent({name: 'writer', model});
  const agent = new LoopAgent({name: 'loop', maxIterations: 3, subAgents: [writer]});
  const it = await stage({runner: {agent, plugins: [new ContextFilterPlugin({numInvocationsToKeep: 1})]}});
  await lines(it.run('write'));
  expect(model.requests.map(({contents}) => brief(contents))).toEqual([
    ['user write'],
    ['user write', 'model one', 'user Continue.'],
    ['user write', 'model one', 'model two', 'user Continue.'],
  ]);
});

test('an answer to a call that waited is kept with the call and the question before it', async () => {
  const tool = new LongRunningFunctionTool({name: 'approve', description: 'Asks the boss.', execute: () => null});
  const it = await stage({
    steps: ['one', functionCalls({name: 'approve', id: 'a'}), 'two'],
    agent: {tools: [tool]},
    runner: {plugins: [new ContextFilterPlugin({numInvocationsToKeep: 1})]},
  });
  await lines(it.run('first'));
  const {events} = await collect(it.run('second'));
  const id = events[0]?.longRunningToolIds?.[0] ?? '';
  await lines(it.run('', {newMessage: {role: 'user', parts: [{functionResponse: {id, name: 'approve', response: {ok: true}}}]}}));
  expect(brief(it.model.requests.at(-1)?.contents ?? [])).toEqual(['user second', 'model approve()', 'user =approve']);
});
