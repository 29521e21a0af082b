import {describe, expect, test, vi} from 'vitest';
import {
  AgentTool,
  BaseAgent,
  BaseToolset,
  createEvent,
  FunctionTool,
  InMemoryArtifactService,
  LlmAgent,
  LongRunningFunctionTool,
  type BaseTool,
  type Event,
  type LlmAgentConfig,
} from 'sluice';
import {collect, functionCalls, hang, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {expectNoListeners, expectValid, line, stage, type StageOptions} from '../stories/kit.ts';

const ask = (request: string, name = 'expert'): ScriptedStep => functionCalls({name, args: {request}});

function expert(steps: readonly ScriptedStep[], config: Partial<LlmAgentConfig> = {}): {agent: LlmAgent; model: ScriptedLlm} {
  const model = new ScriptedLlm({steps});
  return {model, agent: new LlmAgent({name: 'expert', description: 'Knows all.', model, ...config})};
}

const asking = (agent: BaseAgent, steps: readonly ScriptedStep[], options: StageOptions = {}): ReturnType<typeof stage> =>
  stage({steps, ...options, agent: {tools: [new AgentTool({agent})], ...options.agent}});

describe('an agent as a tool', () => {
  test('answers the call, in a session of its own', async () => {
    const {agent, model} = expert(['Forty-two.']);
    const it = await asking(agent, [ask('The answer?'), 'It is 42.']);
    expect((await collect(it.run('Tell me'))).events.map(line)).toEqual([
      'root: expert({"request":"The answer?"})',
      'root: expert={"result":"Forty-two."}',
      'root: "It is 42."',
    ]);
    expect(model.requests[0]?.contents).toEqual([{role: 'user', parts: [{text: 'The answer?'}]}]);
    expectValid(await it.stored());
  });

  test('remembers nothing from one call to the next', async () => {
    const {agent, model} = expert(['One.', 'Two.']);
    const it = await asking(agent, [ask('first'), ask('second'), 'done']);
    await collect(it.run());
    expect(model.requests.map(({contents}) => contents.length)).toEqual([1, 1]);
  });

  test('sees the state of its caller, and what it writes is stored with the response', async () => {
    const {agent, model} = expert(['Noted.'], {instruction: 'Help {who}.', outputKey: 'note'});
    const it = await asking(agent, [ask('Note it'), 'done']);
    const {events} = await collect(it.run('go', {stateDelta: {who: 'Ann'}}));
    expect(model.requests[0]?.config.systemInstruction).toBe('Help Ann.');
    expect(events[1]?.actions.stateDelta).toEqual({note: 'Noted.'});
    expect(await it.state()).toEqual({who: 'Ann', note: 'Noted.'});
  });

  test('takes what its inputSchema says, and gives its output as the response', async () => {
    const {agent, model} = expert(['{"sum": 3}'], {
      inputSchema: z.object({a: z.int(), b: z.int()}),
      outputSchema: z.object({sum: z.int()}),
    });
    const it = await asking(agent, [
      functionCalls({name: 'expert', args: {a: 1}}),
      functionCalls({name: 'expert', args: {a: 1, b: 2}}),
      'done',
    ]);
    const {events} = await collect(it.run());
    expect(events[1] && line(events[1])).toContain('b: ');
    expect(events[3] && line(events[3])).toBe('root: expert={"sum":3}');
    expect(model.requests[0]?.contents[0]?.parts).toEqual([{text: '{"a":1,"b":2}'}]);
  });

  test('whose inputSchema is none is refused where the agent is made', () => {
    const make = () => expert([], {inputSchema: 5 as never});
    expect(make).toThrow('Expected `expert.inputSchema` to be a Standard Schema');
  });

  test('counts its model calls for the run', async () => {
    const loop = expert(Array.from({length: 9}, () => functionCalls({name: 'nothing', args: {}})));
    const it = await asking(loop.agent, [ask('go'), 'never asked'], {runConfig: {maxLlmCalls: 4}});
    const {error, outcome} = await collect(it.run());
    expect(error).toMatchObject({code: 'LLM_CALLS_LIMIT'});
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 4});
    expectValid(await it.stored());
  });

  test('that uses tools of its own runs also where the gate is as narrow as can be', async () => {
    const add = new FunctionTool({name: 'add', description: 'Adds.', execute: () => 3});
    const {agent} = expert([functionCalls({name: 'add', args: {}}), 'Three.'], {tools: [add]});
    const it = await asking(agent, [ask('1 + 2'), 'done'], {runConfig: {maxConcurrentTools: 1}});
    expect((await collect(it.run())).events.map(line)).toContain('root: expert={"result":"Three."}');
  });

  test('shows what it does as progress where that is asked for', async () => {
    const {agent} = expert(['Forty-two.']);
    const it = await stage({steps: [ask('?'), 'done'], agent: {tools: [new AgentTool({agent, streamEvents: true})]}});
    const progress = (await collect(it.run())).events
      .filter((event) => event.partial)
      .map((event) => event.content?.parts?.[0]?.functionResponse);
    expect(progress).toMatchObject([
      {name: 'expert', willContinue: true, response: {author: 'expert', content: {parts: [{text: 'Forty-two.'}]}}},
    ]);
  });

  test('ends the run with its answer where nobody is to sum it up', async () => {
    const {agent} = expert(['Forty-two.']);
    const it = await stage({steps: [ask('?')], agent: {tools: [new AgentTool({agent, skipSummarization: true})]}});
    expect((await collect(it.run())).events.map(line)).toEqual(['root: expert({"request":"?"})', 'root: expert={"result":"Forty-two."}']);
  });

  test.each([
    ['fails', expert([new Error('out of order')]).agent, 'out of order'],
    ['is blocked', expert([{finishReason: 'SAFETY'}]).agent, 'The agent `expert` ended with SAFETY'],
    [
      'waits',
      expert([functionCalls({name: 'later', args: {}})], {
        tools: [new LongRunningFunctionTool({name: 'later', description: '.', execute: () => 1})],
      }).agent,
      'waits for an answer',
    ],
  ])('that %s is an error of the call', async (_, agent, message) => {
    const it = await asking(agent, [ask('?'), 'done']);
    const {events} = await collect(it.run());
    expect(events[1] && line(events[1])).toContain('"error":');
    expect(events[1] && line(events[1])).toContain(message);
    expect(events.at(-1) && line(events.at(-1) as Event)).toBe('root: "done"');
  });

  test('of the user runs too', async () => {
    class Parrot extends BaseAgent {
      protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
        yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'Squawk.'}]}});
      }
    }
    const it = await asking(new Parrot({name: 'parrot'}), [ask('?', 'parrot'), 'done']);
    expect((await collect(it.run())).events.map(line)).toContain('root: parrot={"result":"Squawk."}');
  });
});

describe('a stop while an agent runs as a tool', () => {
  test('ends its model call, answers the call, and leaves nothing', async () => {
    const {agent, model} = expert([hang()]);
    const it = await asking(agent, [ask('?')]);
    const stop = new AbortController();
    const run = it.run('go', {abortSignal: stop.signal});
    await run.next();
    const pending = run.next().catch((error: unknown) => error);
    await vi.waitUntil(() => model.requests.length > 0);
    stop.abort('enough');
    expect(await pending).toBe('enough');
    expect(model.signals[0]?.aborted).toBe(true);
    expect((await it.stored()).map(line)).toEqual([
      'user: "go"',
      'root: expert({"request":"?"})',
      'root: expert={"error":"cancelled; it may have taken effect","started":true}',
    ]);
    expect((await run.settled).abandoned).toEqual([]);
    expectNoListeners(stop.signal);
  });

  test('calls the hooks that follow the agent, once', async () => {
    const after = vi.fn<() => undefined>();
    const {agent, model} = expert([hang()], {afterAgentCallback: after});
    const it = await asking(agent, [ask('?')]);
    const run = it.run();
    await run.next();
    void run.next();
    await vi.waitUntil(() => model.requests.length > 0);
    await run.return();
    expect(after).toHaveBeenCalledOnce();
  });
});

test.each([{}, {agent: 'expert'}, {agent: expert([]).agent, streamEvents: 'yes'}, {agent: expert([]).agent, other: 1}])(
  'the options %j are refused',
  (config) => {
    expect(() => new AgentTool(config as never)).toThrow(expect.objectContaining({code: 'INVALID_OPTION'}));
  },
);

describe('what an agent behind a tool has of its caller', () => {
  const save = new FunctionTool({
    name: 'save',
    description: 'Saves.',
    execute: async (_args, context) => {
      const known = await context.listArtifacts();
      await context.saveArtifact('inner.txt', {text: 'from inside'});
      return {known, read: await context.loadArtifact('outer.txt')};
    },
  });

  test('are its files, and what it saves is told with the response', async () => {
    const artifactService = new InMemoryArtifactService();
    const scope = {appName: 'app', userId: 'u', sessionId: 's'};
    await artifactService.saveArtifact({...scope, filename: 'outer.txt', artifact: {text: 'from outside'}});
    const {agent, model} = expert([functionCalls({name: 'save'}), 'Saved.'], {tools: [save]});
    const it = await asking(agent, [ask('Save it'), 'done'], {runner: {artifactService}});
    const {events} = await collect(it.run());
    expect(events[1]?.actions.artifactDelta).toEqual({'inner.txt': 0});
    expect(await artifactService.listArtifactKeys(scope)).toEqual(['inner.txt', 'outer.txt']);
    expect(model.requests[1]?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({
      known: ['outer.txt'],
      read: {text: 'from outside'},
    });
  });

  test('is what lives as long as the run, both ways', async () => {
    const count = new FunctionTool({
      name: 'count',
      description: 'Counts.',
      execute: (_args, {state}) => state.set('temp:count', state.get('temp:count', 0) + 1),
    });
    const {agent} = expert([functionCalls({name: 'count'}), 'Counted.'], {tools: [count]});
    const it = await asking(agent, [functionCalls({name: 'count'}), ask('Count'), functionCalls({name: 'count'}), 'done'], {
      agent: {tools: [new AgentTool({agent}), count]},
    });
    const {events} = await collect(it.run());
    expect(events.flatMap(({actions}) => actions.stateDelta['temp:count'] ?? [])).toEqual([1, 2, 3]);
  });

  test('stays with the caller where a stop comes while the agent goes on', async () => {
    const note = new FunctionTool({name: 'note', description: 'Notes.', execute: (_args, {state}) => state.set('noted', true)});
    const stop = new AbortController();
    const {agent} = expert([functionCalls({name: 'note'}), () => (stop.abort(new Error('enough')), new Promise<never>(() => {}))], {
      tools: [note],
    });
    const it = await asking(agent, [ask('Note it')]);
    await collect(it.run('go', {abortSignal: stop.signal}));
    expect(await it.state()).toEqual({noted: true});
    expectNoListeners(stop.signal);
    expectValid(await it.stored());
  });

  test('are toolsets that its runner closes, once, however often the agent stands in the tree', async () => {
    let closed = 0;
    class Set extends BaseToolset {
      override async getTools(): Promise<BaseTool[]> {
        return [];
      }

      override async close(): Promise<void> {
        closed++;
      }
    }
    const toolset = new Set();
    const leaf = new LlmAgent({name: 'leaf', model: new ScriptedLlm(), tools: [toolset]});
    const inner = new LlmAgent({name: 'inner', model: new ScriptedLlm(), tools: [toolset], subAgents: [leaf]});
    const it = await asking(inner, []);
    await it.runner.close();
    expect(closed).toBe(1);
  });
});
