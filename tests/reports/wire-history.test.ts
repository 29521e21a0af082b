// What people reported about the requests that other runtimes send, as bytes on the wire. The server is strict: it refuses what Google refuses.
import {describe, expect, test} from 'vitest';
import {
  BaseToolset,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  LongRunningFunctionTool,
  type BaseTool,
  type Event,
  type LlmAgentConfig,
  type Part,
  type Session,
} from 'sluice';
import {answer, calls, chunks, collect, type GeminiRequest, type GeminiServer} from 'sluice/testing';
import {z} from 'zod';
import {expectNoListeners, expectValid, idle, line, lines, Stage} from '../stories/kit.ts';
import {modelAt, wired} from './wired.ts';

const key = {appName: 'app', userId: 'u', sessionId: 's'};

/** A stage in what could be another process: new objects all over, and a session that was written out as JSON and read in again. */
async function rebuilt(server: GeminiServer, events: readonly Event[], agent: Partial<LlmAgentConfig>, model: string): Promise<Stage> {
  const root = new LlmAgent({name: 'root', model: modelAt(server, {model}), ...agent});
  const runner = new InMemoryRunner({agent: root, appName: 'app'});
  const session: Session = await runner.sessionService.createSession(key);
  for (const event of JSON.parse(JSON.stringify(events)) as Event[]) await runner.sessionService.appendEvent({session, event});
  return new Stage(runner, undefined as never, []);
}

/** The contents of a request, byte for byte. */
const contentsOf = ({body}: GeminiRequest): string => JSON.stringify(body.contents).slice(1, -1);

describe.each(['gemini-2.5-flash', 'gemini-3-pro-preview'])('with %s', (model) => {
  // vercel/ai#16567
  test('a request begins with the bytes of the one before, whatever the tools took, and is the same when built anew from the session', async () => {
    const slow = Promise.withResolvers<string>();
    const tools = [
      new FunctionTool({name: 'slow', description: 'Is slow.', execute: () => slow.promise}),
      new FunctionTool({
        name: 'fast',
        description: 'Is fast.',
        execute: () => {
          setImmediate(() => slow.resolve('late'));
          return 'early';
        },
      }),
    ];
    const agent = {tools, instruction: 'Be brief.', generateContentConfig: {temperature: 0}};
    await using it = await wired({
      gemini: {model},
      agent,
      replies: [
        calls([{name: 'slow', args: {b: 1, a: 2}}, {name: 'fast'}], {thoughts: 'Hm. '}),
        chunks(['One', ' and', [{text: ' two', thoughtSignature: 'c2lnbmVk'}]]),
        answer('Three'),
        answer('Three'),
      ],
    });
    await collect(it.stage.run('one'));
    const before = await it.stage.stored();
    await collect(it.stage.run('two'));

    const [first, second, third] = it.server.requests;
    expect(second?.body.contents?.[2]?.parts?.map((part) => [part.functionResponse?.name, part.functionResponse?.response])).toEqual([
      ['slow', {result: 'late'}],
      ['fast', {result: 'early'}],
    ]);
    expect(contentsOf(second!).startsWith(contentsOf(first!))).toBe(true);
    expect(contentsOf(third!).startsWith(contentsOf(second!))).toBe(true);

    const copy = await rebuilt(it.server, before, agent, model);
    await collect(copy.run('two', {runConfig: {streamingMode: 'sse'}}));
    expect(it.server.requests[3]?.bodyText).toBe(third?.bodyText);
    expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined, undefined, undefined]);
  });

  // QwenLM/qwen-code PR#5038: an id that the server gives again belongs to a new call, which runs once, and which the server knows by that id.
  test('an id that comes again in a later turn is a call of its own: run once, answered once, under the very id', async () => {
    const paid: unknown[] = [];
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      parameters: z.object({amount: z.number()}),
      execute: ({amount}) => paid.push(amount),
    });
    const again = (amount: number) => calls([{id: 'call-1', name: 'pay', args: {amount}}]);
    await using it = await wired({
      gemini: {model},
      agent: {tools: [pay]},
      replies: [again(10), again(20), answer('Twice.'), again(30), answer('Thrice.')],
    });
    await collect(it.stage.run('pay 10, then 20'));
    await collect(it.stage.run('pay 30'));
    expect(paid).toEqual([10, 20, 30]);
    const parts = it.server.requests.at(-1)?.body.contents?.flatMap((content) => content.parts ?? []) ?? [];
    expect(parts.flatMap(({functionCall}) => (functionCall ? [[functionCall.id, functionCall.args?.['amount']]] : []))).toEqual([
      ['call-1', 10],
      ['call-1', 20],
      ['call-1', 30],
    ]);
    expect(parts.flatMap(({functionResponse}) => (functionResponse ? [[functionResponse.id, functionResponse.response]] : []))).toEqual([
      ['call-1', {result: 1}],
      ['call-1', {result: 2}],
      ['call-1', {result: 3}],
    ]);
    const ids = (await it.stage.stored()).flatMap(({content}) => content?.parts?.flatMap(({functionCall}) => functionCall?.id ?? []) ?? []);
    expect(new Set(ids).size).toBe(3);
    expect(it.server.requests.map(({refusal}) => refusal)).toEqual(Array.from({length: 5}, () => undefined));
  });
});

describe('thought signatures', () => {
  const gemini = {model: 'gemini-3-pro-preview'};
  const replied: Part[] = [
    {functionCall: {id: 'a', name: 'ask', args: {}}, thoughtSignature: 'Zmlyc3Q='},
    {functionCall: {id: 'b', name: 'ask', args: {}}},
  ];
  const signed: Part[] = [{text: 'Both said yes.'}, {text: '', thoughtSignature: 'bGFzdA=='}];
  const ask = () => new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});
  const answers = {
    newMessage: {role: 'user', parts: ['a', 'b'].map((id) => ({functionResponse: {id, name: 'ask', response: {ok: true}}}))},
  };

  // vercel/ai#10344, google/adk-js#268
  test('go back on the very part that brought them, also when the session was saved and loaded in between', async () => {
    await using it = await wired({
      gemini,
      agent: {tools: [ask()]},
      replies: [chunks(replied.map((part) => [part])), chunks(signed.map((part) => [part])), answer('Bye.')],
    });
    await collect(it.stage.run('ask twice'));

    const second = await rebuilt(it.server, await it.stage.stored(), {tools: [ask()]}, gemini.model);
    expect(await lines(second.run('', answers))).toEqual(['root: "Both said yes." ""']);

    const third = await rebuilt(it.server, await second.stored(), {tools: [ask()]}, gemini.model);
    await collect(third.run('thanks'));
    expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined, undefined]);
    expect(it.server.requests[1]?.body.contents?.[1]).toEqual({role: 'model', parts: replied});
    expect(it.server.requests[2]?.body.contents?.[1]).toEqual({role: 'model', parts: replied});
    expect(it.server.requests[2]?.body.contents?.[3]).toEqual({role: 'model', parts: signed});
  });
});

/** A toolset that lists its tools when the test lets it. */
class GatedToolset extends BaseToolset {
  readonly gate: PromiseWithResolvers<void> = Promise.withResolvers();
  readonly #names: readonly string[];
  constructor(names: readonly string[]) {
    super();
    this.#names = names;
  }
  override async getTools(): Promise<BaseTool[]> {
    await this.gate.promise;
    return this.#names.map((name) => new FunctionTool({name, description: name, execute: () => name}));
  }
  override async close(): Promise<void> {}
}

// QwenLM/qwen-code#6338
test('declarations stand in the order in which the agent names its tools, in the same bytes whichever toolset answers first', async () => {
  const bodies: (string | undefined)[] = [];
  for (const order of [
    [0, 1],
    [1, 0],
  ]) {
    const sets = [new GatedToolset(['zulu', 'alpha']), new GatedToolset(['mike', 'bravo'])];
    const middle = new FunctionTool({name: 'kilo', description: 'kilo', execute: () => 1});
    await using it = await wired({agent: {tools: [sets[0]!, middle, sets[1]!]}, replies: [answer('ok')]});
    const reading = collect(it.stage.run());
    for (const at of order) {
      sets[at]?.gate.resolve();
      await idle();
    }
    await reading;
    bodies.push(it.server.requests[0]?.bodyText);
    const [tool] = it.server.requests[0]?.body.tools ?? [];
    const declared = tool && 'functionDeclarations' in tool ? tool.functionDeclarations : [];
    expect(declared?.map(({name}) => name)).toEqual(['zulu', 'alpha', 'kilo', 'mike', 'bravo']);
  }
  expect(bodies[0]).toBe(bodies[1]);
});

// colinhacks/zod#5807, langchain-ai/langchainjs PR#9864, reposkein/reposkein PR#14, diegosouzapw/OmniRoute PR#12872,
// anomalyco/opencode#13148, Kilo-Org/kilocode PR#11955
test.each([
  ['a union', z.object({x: z.union([z.string(), z.number()])})],
  [
    'a discriminated union',
    z.object({x: z.discriminatedUnion('kind', [z.object({kind: z.literal('a')}), z.object({kind: z.literal('b'), n: z.number()})])}),
  ],
  ['a nullable object', z.object({x: z.object({y: z.string()}).nullable()})],
  ['a numeric constant', z.object({x: z.literal(7)})],
  ['a numeric enum', z.object({x: z.union([z.literal(1), z.literal(2)])})],
  ['a mixed enum', z.object({x: z.literal(['a', 1, null])})],
  ['a tuple', z.object({x: z.tuple([z.string(), z.number()])})],
  ['an anything', z.object({x: z.any()})],
  ['a schema without a type', {type: 'object', properties: {x: {description: 'Anything.'}}}],
  [
    'what refers to itself',
    z.object({
      x: z.string(),
      get rest(): z.ZodArray<z.ZodObject> {
        return z.array(z.object({x: z.string()}));
      },
    }),
  ],
])('a tool with %s is declared in a form that the server takes, and its call is run', async (_, parameters) => {
  const tool = new FunctionTool({name: 'take', description: 'Takes it.', parameters: parameters as z.ZodObject, execute: () => 'taken'});
  await using it = await wired({agent: {tools: [tool]}, replies: [answer('ok')]});
  expect(await lines(it.stage.run())).toEqual(['root: "ok" [partial]', 'root: "ok"']);
  expect(it.server.requests[0]?.refusal).toBeUndefined();
  const [declared] = it.server.requests[0]?.body.tools ?? [];
  expect(JSON.stringify(declared)).toMatch(/"parametersJsonSchema":\{"type":"object","properties":\{"x":/);
});

// vercel/ai#14369
test('a tool that returns a JSON Schema with references leads to a request that holds none', async () => {
  const schema = {$ref: '#/$defs/A', $defs: {A: {type: 'array', items: {$ref: '#/$defs/A'}}}};
  const tool = new FunctionTool({name: 'schema', description: 'Gives a schema.', execute: () => schema});
  await using it = await wired({agent: {tools: [tool]}, replies: [calls([{name: 'schema'}]), answer('I see.')]});
  await collect(it.stage.run());
  expect(it.server.requests[1]?.bodyText).toContain('#/$defs/A');
  expect(it.server.requests[1]?.bodyText).not.toContain('"$ref"');
});

// openai/openai-agents-js#1190
test.each([
  ['by an abort', async (stop: AbortController) => stop.abort('halt')],
  ['by the reader', async (_stop: AbortController, leave: () => Promise<unknown>) => void (await leave())],
])('after a tool was stopped %s, the next request answers every call and is taken', async (_, stopIt) => {
  const started = Promise.withResolvers<void>();
  const patient = new FunctionTool({
    name: 'patient',
    description: 'Waits.',
    execute: (_args, {abortSignal}) =>
      new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => reject(abortSignal.reason));
        started.resolve();
      }),
  });
  const quick = new FunctionTool({name: 'quick', description: 'Is quick.', execute: () => 'ready'});
  await using it = await wired({
    gemini: {model: 'gemini-3-pro-preview'},
    agent: {tools: [patient, quick]},
    replies: [calls([{name: 'quick'}, {name: 'patient'}]), answer('Where were we?')],
  });
  const stop = new AbortController();
  const run = it.stage.run('go', {abortSignal: stop.signal});
  const reading = collect(run);
  await started.promise;
  await stopIt(stop, () => run.return());
  await reading;
  expect((await lines(it.stage.run('and?'))).at(-1)).toBe('root: "Where were we?"');
  expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined]);
  expect(it.server.requests[1]?.body.contents?.[2]?.parts?.map((part) => part.functionResponse?.response)).toEqual([
    {result: 'ready'},
    {error: 'cancelled; it may have taken effect', started: true},
  ]);
  expectNoListeners(stop.signal);
  expectValid(await it.stage.stored());
  expect((await it.stage.stored()).map(line).at(-2)).toBe('user: "and?"');
});
