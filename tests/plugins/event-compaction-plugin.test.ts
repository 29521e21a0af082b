import {afterEach, describe, expect, test, vi} from 'vitest';
import {
  LlmAgent,
  LongRunningFunctionTool,
  ParallelAgent,
  Runner,
  type Content,
  type LlmAgentConfig,
  type LlmRequest,
  type LlmResponse,
  type RunnerConfig,
} from 'sluice';
import {ContextFilterPlugin, EventCompactionPlugin, type EventCompactionPluginOptions, type EventSummarizer} from 'sluice/plugins';
import {collect, deaf, functionCalls, hang, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, line, lines, stage, type Stage} from '../stories/kit.ts';
import {tellTwice} from '../stories/replay-kit.ts';
import {TextSessionService} from '../sessions/text-session-service.ts';
import {echo, pluginOf} from './kit.ts';

afterEach(() => vi.restoreAllMocks());

const summaryOf = (...summaries: string[]): string => `user ${['Summary of the conversation up to here:', ...summaries].join('\n\n')}`;

const brief = (contents: readonly Content[]): string[] =>
  contents.map(({role, parts = []}) =>
    [role, ...parts.map(({text, functionCall, functionResponse: answer}) => text ?? functionCall?.id ?? `=${answer?.id}`)].join(' '),
  );

const asked = ({requests}: ScriptedLlm): string[][] => requests.map(({contents}) => brief(contents));

/** A summarizer that gives `S1`, `S2` ..., and what it was asked. */
function counting(): {readonly summarizer: EventSummarizer; readonly seen: string[][]} {
  const seen: string[][] = [];
  return {seen, summarizer: ({contents}) => `S${seen.push(brief(contents))}`};
}

interface TalkOptions {
  readonly steps: readonly ScriptedStep[];
  readonly says: readonly string[];
  readonly plugin: EventCompactionPluginOptions;
  readonly agent?: Partial<LlmAgentConfig>;
  readonly runner?: Partial<RunnerConfig>;
}

async function talk({steps, says, plugin, agent = {}, runner = {}}: TalkOptions): Promise<Stage> {
  const plugins = [new EventCompactionPlugin(plugin), ...(runner.plugins ?? [])];
  const it = await stage({steps, agent: {tools: [echo], ...agent}, runner: {...runner, plugins}});
  for (const said of says) {
    const {error} = await collect(it.run(said));
    if (error) throw error;
  }
  it.model.assertComplete();
  expectValid(await it.stored());
  return it;
}

/** A reply to a request of so many tokens. */
const sized = (promptTokenCount: number, reply: LlmResponse | string): LlmResponse => ({
  ...(typeof reply === 'string' ? {content: {role: 'model', parts: [{text: reply}]}, finishReason: 'STOP'} : reply),
  usageMetadata: {promptTokenCount},
});

const call = (id: string): LlmResponse => functionCalls({name: 'echo', id});

describe('compactionInterval', () => {
  test('so many runs become one more summary, in place of their contents; the session keeps every Event', async () => {
    const {summarizer, seen} = counting();
    const steps = ['a1', call('c2'), 'a2', 'a3', 'a4', 'a5'];
    const it = await talk({steps, says: ['q1', 'q2', 'q3', 'q4', 'q5'], plugin: {summarizer, compactionInterval: 2}});
    expect(asked(it.model)).toEqual([
      ['user q1'],
      ['user q1', 'model a1', 'user q2'],
      ['user q1', 'model a1', 'user q2', 'model c2', 'user =c2'],
      [summaryOf('S1'), 'user q3'],
      [summaryOf('S1'), 'user q3', 'model a3', 'user q4'],
      [summaryOf('S1', 'S2'), 'user q5'],
    ]);
    expect(seen).toEqual([
      ['user q1', 'model a1', 'user q2', 'model c2', 'user =c2', 'model a2'],
      ['user q3', 'model a3', 'user q4', 'model a4'],
    ]);
    const stored = await it.stored();
    expect(stored.map(line)).toEqual([
      'user: "q1"',
      'root: "a1"',
      'user: "q2"',
      'root: echo({})',
      'root: echo={"result":"said"}',
      'root: "a2"',
      'user: "q3"',
      'root: "a3"',
      'user: "q4"',
      'root: "a4"',
      'user: "q5"',
      'root: "a5"',
    ]);
    expect(await it.state()).toEqual({'event_compaction_plugin/root': {lastEventId: stored[9]?.id, summaries: ['S1', 'S2']}});
  });

  test('overlapSize: a summary looks again at so many runs before its own', async () => {
    const {summarizer, seen} = counting();
    const steps = ['a1', 'a2', 'a3', 'a4'];
    const it = await talk({
      steps,
      says: ['q1', 'q2', 'q3', 'q4'],
      plugin: {summarizer, compactionInterval: 1, overlapSize: 1, name: 'short'},
    });
    expect(seen).toEqual([
      ['user q1', 'model a1'],
      ['user q1', 'model a1', 'user q2', 'model a2'],
      ['user q2', 'model a2', 'user q3', 'model a3'],
    ]);
    expect(asked(it.model).at(-1)).toEqual([summaryOf('S1', 'S2', 'S3'), 'user q4']);
    expect(Object.keys(await it.state())).toEqual(['short/root']);
  });
});

describe('tokenThreshold', () => {
  test('what stands before the latest Events becomes one summary, within a run too, and the message of the run stays', async () => {
    const {summarizer, seen} = counting();
    const steps = [
      sized(10, 'a1'),
      sized(20, call('c1')),
      sized(99, call('c2')),
      sized(100, call('c3')),
      sized(50, call('c4')),
      sized(120, 'a2'),
      sized(40, 'a3'),
    ];
    const plugin = {summarizer, tokenThreshold: 100, eventRetentionSize: 3};
    const it = await talk({steps, says: ['q1', 'q2', 'q3'], plugin});
    const second = ['user q1', 'model a1', 'user q2', 'model c1', 'user =c1'];
    expect(asked(it.model)).toEqual([
      ['user q1'],
      ['user q1', 'model a1', 'user q2'],
      second,
      [...second, 'model c2', 'user =c2'],
      // The third from the end is the response of c2, which stays with its call.
      [summaryOf('S1'), 'user q2', 'model c2', 'user =c2', 'model c3', 'user =c3'],
      [summaryOf('S1'), 'user q2', 'model c2', 'user =c2', 'model c3', 'user =c3', 'model c4', 'user =c4'],
      [summaryOf('S2'), 'model c4', 'user =c4', 'model a2', 'user q3'],
    ]);
    expect(seen).toEqual([second, [summaryOf('S1'), 'model c2', 'user =c2', 'model c3', 'user =c3']]);
    expect(await it.stored()).toHaveLength(14);
  });

  test.each([0, 1, 2, 3, 4, 5, 6, 7, 8])('with %i Events kept every request has its calls paired', async (eventRetentionSize) => {
    const reply = (id: string): LlmResponse => sized(100, functionCalls({name: 'echo', id: `${id}a`}, {name: 'echo', id: `${id}b`}));
    const steps = [reply('c1'), reply('c2'), sized(100, 'a1'), reply('c3'), sized(100, 'a2')];
    const {summarizer, seen} = counting();
    const it = await talk({steps, says: ['q1', 'q2'], plugin: {summarizer, tokenThreshold: 100, eventRetentionSize}});
    for (const contents of asked(it.model)) {
      for (const [at, content] of contents.entries()) {
        if (content.startsWith('model c')) expect(contents[at + 1]).toBe(content.replaceAll(/c\da|c\db/g, '=$&').replace('model', 'user'));
        if (content.startsWith('user =')) expect(contents[at - 1]).toMatch(/^model c/);
      }
      expect(contents[0]).toMatch(/^user /);
      expect(contents.filter((content) => content.startsWith('user q')).length).toBeGreaterThan(0);
    }
    expect(seen.length).toBeGreaterThan(0);
  });

  test('folds summaries of compactionInterval', async () => {
    const {summarizer, seen} = counting();
    const steps = ['a1', 'a2', sized(100, 'a3'), 'a4'];
    const plugin = {summarizer, compactionInterval: 1, tokenThreshold: 100, eventRetentionSize: 1};
    const it = await talk({steps, says: ['q1', 'q2', 'q3', 'q4'], plugin});
    expect(seen.at(-1)).toEqual([summaryOf('S1', 'S2'), 'user q3', 'model a3']);
    expect(asked(it.model).at(-1)).toEqual([summaryOf('S3'), 'user q4']);
  });
});

describe('a call that waits', () => {
  const tools = [new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => ({status: 'pending'})})];
  const waiting = functionCalls({name: 'ask', id: 'w'});
  const answer = {newMessage: {role: 'user', parts: [{functionResponse: {id: 'w', name: 'ask', response: {ok: true}}}]}};

  test('stays with what led to it, until it is answered and another run has begun', async () => {
    const {summarizer, seen} = counting();
    const plugins = [new EventCompactionPlugin({summarizer, compactionInterval: 1})];
    const it = await stage({steps: ['a1', waiting, 'a2', 'a3', 'a4', 'a5', 'a6'], agent: {tools}, runner: {plugins}});
    for (const said of ['q1', 'q2', 'q3', 'q4']) await lines(it.run(said));
    await lines(it.run('', answer));
    await lines(it.run('q5'));
    const led = ['user q2', 'model w', 'user =w'];
    expect(asked(it.model)).toEqual([
      ['user q1'],
      [summaryOf('S1'), 'user q2'],
      [summaryOf('S1'), ...led, 'user q3'],
      [summaryOf('S1'), ...led, 'user q3', 'model a2', 'user q4'],
      [summaryOf('S1'), 'user q3', 'model a2', 'user q4', 'model a3', ...led],
      [summaryOf('S1', 'S2'), 'user q5'],
    ]);
    expect(seen).toHaveLength(2);
  });
});

describe('a summary', () => {
  test('is found again by another process', async () => {
    const sessionService = new TextSessionService();
    const {summarizer, seen} = counting();
    const requests: string[][] = [];
    for (const [said, reply] of [
      ['q1', 'a1'],
      ['q2', 'a2'],
      ['q3', 'a3'],
    ] as const) {
      const model = new ScriptedLlm({steps: [reply]});
      const plugins = [new EventCompactionPlugin({summarizer, compactionInterval: 1})];
      const agent = new LlmAgent({name: 'root', model});
      const runner = new Runner({appName: 'app', agent, sessionService, plugins, autoCreateSession: true});
      await lines(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: said}]}}));
      requests.push(...asked(model));
    }
    expect(requests).toEqual([['user q1'], [summaryOf('S1'), 'user q2'], [summaryOf('S1', 'S2'), 'user q3']]);
    expect(seen).toEqual([
      ['user q1', 'model a1'],
      ['user q2', 'model a2'],
    ]);
  });

  test.each([
    ['names no Event of the session', {lastEventId: 'gone', summaries: ['old']}],
    ['is none', 'old'],
    ['has no texts', {lastEventId: 'gone', summaries: []}],
  ])('that %s counts as none', async (_, stale) => {
    const it = await stage({steps: ['a1', 'a2']});
    await lines(it.run('q1', {stateDelta: {'event_compaction_plugin/root': stale}}));
    const plugins = [new EventCompactionPlugin({summarizer: () => 'S', compactionInterval: 9})];
    const agent = new LlmAgent({name: 'root', model: it.model});
    const runner = new Runner({appName: 'app', agent, sessionService: it.runner.sessionService, plugins});
    await lines(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: 'q2'}]}}));
    expect(asked(it.model).at(-1)).toEqual(['user q1', 'model a1', 'user q2']);
  });

  test('is made once by a run that is replayed', async () => {
    const {told} = await tellTwice((log) => ({
      says: ['q1', 'q2'],
      steps: ['a1', call('c'), 'a2'],
      agent: {tools: [echo]},
      runner: {plugins: [new EventCompactionPlugin({summarizer: () => `S${log.push('summed up')}`, compactionInterval: 1})]},
    }));
    expect(told.log).toEqual(['summed up']);
    expect((told.requests as LlmRequest[]).map(({contents}) => brief(contents))).toEqual([
      ['user q1'],
      [summaryOf('S1'), 'user q2'],
      [summaryOf('S1'), 'user q2', 'model c', 'user =c'],
    ]);
  });

  test('belongs to one agent, in one branch', async () => {
    const [one, two] = [new ScriptedLlm({steps: ['one 1', 'one 2']}), new ScriptedLlm({steps: ['two 1', 'two 2']})];
    const agent = new ParallelAgent({
      name: 'both',
      subAgents: [new LlmAgent({name: 'one', model: one}), new LlmAgent({name: 'two', model: two})],
    });
    const summarizer: EventSummarizer = ({context, contents}) => `${context.agentName}: ${brief(contents).join(', ')}`;
    const it = await stage({runner: {agent, plugins: [new EventCompactionPlugin({summarizer, compactionInterval: 1})]}});
    for (const said of ['q1', 'q2']) await lines(it.run(said));
    expect([asked(one).at(-1), asked(two).at(-1)]).toEqual([
      [summaryOf('one: user q1, model one 1'), 'user q2'],
      [summaryOf('two: user q1, model two 1'), 'user q2'],
    ]);
    expect(it.diagnostics).toEqual([]);
  });

  test('stands ahead of the instruction that goes with a static one', async () => {
    const agent = {staticInstruction: 'You are Ann.', instruction: 'Be brief.'};
    const plugin = {summarizer: counting().summarizer, compactionInterval: 1};
    const it = await talk({steps: ['a1', call('c'), 'a2'], says: ['q1', 'q2'], agent, plugin});
    expect(asked(it.model)).toEqual([
      ['user Be brief.', 'user q1'],
      [summaryOf('S1'), 'user Be brief.', 'user q2'],
      [summaryOf('S1'), 'user q2', 'model c', 'user =c', 'user Be brief.'],
    ]);
  });

  test('stays out of contents that another plugin has cut before', async () => {
    const cut = pluginOf('cut', {beforeModelCallback: ({llmRequest}) => void llmRequest.contents.splice(0, 1)});
    const {summarizer} = counting();
    const plugins = [cut, new EventCompactionPlugin({summarizer, compactionInterval: 1})];
    const it = await stage({steps: ['a1', 'a2'], runner: {plugins}});
    for (const said of ['q1', 'q2']) await lines(it.run(said));
    expect(asked(it.model).at(-1)).toEqual(['model a1', 'user q2']);
  });

  test('counts as said for a plugin behind', async () => {
    const it = await talk({
      steps: ['a1', 'a2'],
      says: ['q1', 'q2'],
      plugin: {summarizer: counting().summarizer, compactionInterval: 1},
      runner: {plugins: [new ContextFilterPlugin({numInvocationsToKeep: 1})]},
    });
    expect(asked(it.model).at(-1)).toEqual([summaryOf('S1'), 'user q2']);
  });
});

describe('a model as the summarizer', () => {
  test('is told calls and responses in words, and nothing of tools', async () => {
    const summarizer = new ScriptedLlm({steps: [{content: {role: 'model', parts: [{text: 'Hm.', thought: true}, {text: 'Short.'}]}}]});
    const it = await talk({steps: [call('c1'), 'a1', 'a2'], says: ['q1', 'q2'], plugin: {summarizer, compactionInterval: 1}});
    expect(asked(it.model).at(-1)).toEqual([summaryOf('Short.'), 'user q2']);
    const [request] = summarizer.requests;
    expect(request?.config).toEqual({});
    expect(request?.contents).toMatchObject([
      {
        role: 'user',
        parts: [
          {text: expect.stringMatching(/^Below is the beginning of a conversation\./)},
          {text: '[user] said: q1'},
          {text: '[root] called tool `echo` with {}'},
          {text: '[root] got from `echo`: {"result":"said"}'},
          {text: '[root] said: a1'},
        ],
      },
    ]);
    expect(summarizer.signals[0]?.aborted).toBe(true);
    expect((await it.stored()).map(line)).toHaveLength(6);
  });

  test.each<[string, ScriptedStep, string]>([
    ['throws', new Error('down'), 'down'],
    [
      'is cut',
      {content: {role: 'model', parts: [{text: 'So'}]}, errorCode: 'MAX_TOKENS', errorMessage: 'too long'},
      'The summary ended with MAX_TOKENS: too long',
    ],
    ['says nothing', {content: {role: 'model', parts: [{text: 'Hm.', thought: true}]}}, 'The summary is empty'],
  ])('that %s leaves the history as it is', async (_, step, message) => {
    const failures: unknown[] = [];
    const plugin: EventCompactionPluginOptions = {
      summarizer: new ScriptedLlm({steps: [step]}),
      compactionInterval: 1,
      onFailure: ({agentName, error}) => failures.push(`${agentName}: ${(error as Error).message}`),
    };
    const it = await talk({steps: ['a1', call('c'), 'a2'], says: ['q1', 'q2'], plugin});
    expect(asked(it.model).slice(1)).toEqual([
      ['user q1', 'model a1', 'user q2'],
      ['user q1', 'model a1', 'user q2', 'model c', 'user =c'],
    ]);
    expect(failures).toEqual([`root: ${message}`]);
    expect(await it.state()).toEqual({});
  });

  test('is asked again in the next run', async () => {
    const summarizer = new ScriptedLlm({steps: [new Error('down'), 'S']});
    const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
    const it = await talk({steps: ['a1', 'a2', 'a3'], says: ['q1', 'q2', 'q3'], plugin: {summarizer, compactionInterval: 1}});
    expect(asked(it.model).at(-1)).toEqual([summaryOf('S'), 'user q3']);
    expect(warn.mock.calls).toEqual([['[event_compaction_plugin] The history of root was not summed up: down']]);
  });

  test.each([
    ['heeds it', hang(), []],
    ['is deaf to it', deaf(hang()), ['WORK_ABANDONED beforeModelCallback of event_compaction_plugin']],
  ])('is stopped with the run, also where it %s', async (_, step, diagnostics) => {
    const asking = Promise.withResolvers<void>();
    const summarizer = new ScriptedLlm({steps: [() => (asking.resolve(), step)]});
    const onFailure = vi.fn<() => void>();
    const plugins = [new EventCompactionPlugin({summarizer, compactionInterval: 1, onFailure})];
    const it = await stage({steps: ['a1'], runner: {plugins}, runConfig: {abortGraceMs: 5}});
    await lines(it.run('q1'));
    const stop = new AbortController();
    const run = it.run('q2', {abortSignal: stop.signal});
    const reading = collect(run);
    await asking.promise;
    const reason = new Error('enough');
    stop.abort(reason);
    expect((await reading).error).toBe(reason);
    expect((await run.settled).kind).toBe('abort');
    expect(summarizer.signals[0]?.reason).toBe(reason);
    expect(it.model.calls).toBe(1);
    expect(onFailure.mock.calls).toEqual([]);
    expect(it.diagnostics.map(({code, name}) => `${code} ${name}`)).toEqual(diagnostics);
    expect((await it.stored()).map(line)).toEqual(['user: "q1"', 'root: "a1"', 'user: "q2"']);
    expectNoListeners(stop.signal);
  });
});

describe('a function as the summarizer', () => {
  test('may decline', async () => {
    const summarizer = vi.fn<() => undefined>(() => undefined);
    const it = await talk({steps: ['a1', call('c'), 'a2'], says: ['q1', 'q2'], plugin: {summarizer, compactionInterval: 1}});
    expect(asked(it.model)[1]).toEqual(['user q1', 'model a1', 'user q2']);
    expect(summarizer.mock.calls).toHaveLength(1);
  });

  test('that gives no text has failed', async () => {
    const failures: unknown[] = [];
    const plugin = {summarizer: () => 7 as never, compactionInterval: 1, onFailure: ({error}: {error: unknown}) => failures.push(error)};
    await talk({steps: ['a1', 'a2'], says: ['q1', 'q2'], plugin});
    expect(failures).toMatchObject([{message: 'Expected `summarizer` to be a function that gives a string, got 7 (number)'}]);
  });
});

test.each<[string, unknown, string]>([
  ['nothing to sum up with', {tokenThreshold: 9}, '`EventCompactionPlugin.summarizer` to be a BaseLlm or a function, got undefined'],
  ['nothing that says when', {summarizer: () => ''}, 'given tokenThreshold, compactionInterval, or both'],
  [
    'a threshold of none',
    {summarizer: () => '', tokenThreshold: 0},
    '`EventCompactionPlugin.tokenThreshold` to be a whole number of at least 1',
  ],
  ['half an interval', {summarizer: () => '', compactionInterval: 0.5}, '`EventCompactionPlugin.compactionInterval` to be a whole number'],
  ['a retention alone', {summarizer: () => '', compactionInterval: 1, eventRetentionSize: 1}, 'left out without tokenThreshold, got 1'],
  ['an overlap alone', {summarizer: () => '', tokenThreshold: 1, overlapSize: 1}, 'left out without compactionInterval, got 1'],
  ['another option', {summarizer: () => '', tokenThreshold: 1, interval: 1}, 'no such option'],
])('cannot be made with %s', (_, options, message) => {
  expect(() => new EventCompactionPlugin(options as EventCompactionPluginOptions)).toThrow(message);
});
