import {describe, expect, test} from 'vitest';
import {
  InMemoryArtifactService,
  InMemorySessionService,
  LiveRequestQueue,
  LlmAgent,
  Runner,
  SequentialAgent,
  type Content,
  type LlmAgentConfig,
  type LlmRequest,
  type RunnerConfig,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {liveStage} from '../live/kit.ts';
import {echo} from '../plugins/kit.ts';
import {expectNoListeners, stage} from '../stories/kit.ts';
import {tellTwice} from '../stories/replay-kit.ts';

const key = {appName: 'app', userId: 'u', sessionId: 's'};
const said = (...texts: string[]): Content => ({role: 'user', parts: texts.map((text) => ({text}))});

/** What one agent's model is asked in one turn with a call, and in the next. */
async function asked(agent: Partial<LlmAgentConfig>, runner: Partial<RunnerConfig> = {}): Promise<LlmRequest[]> {
  const it = await stage({steps: [functionCalls({name: 'echo', id: 'c1'}), 'one', 'two'], agent: {tools: [echo], ...agent}, runner});
  for (const text of ['first', 'second']) {
    const {error} = await collect(it.run(text, {stateDelta: {turn: text}}));
    if (error) throw error;
  }
  return it.model.requests;
}

const system = (requests: readonly LlmRequest[]): unknown[] => requests.map(({config}) => config.systemInstruction);

/** Texts and names of the contents. */
const brief = ({contents}: LlmRequest): string[] =>
  contents.map(({role, parts = []}) =>
    [role, ...parts.map(({text, functionCall, functionResponse}) => text ?? functionCall?.name ?? `=${functionResponse?.name}`)].join(' '),
  );

describe('an artifact in an instruction', () => {
  test('is put in as it stands at each request', async () => {
    const artifactService = new InMemoryArtifactService();
    await artifactService.saveArtifact({...key, filename: 'rules.md', artifact: {text: 'Be brief.'}});
    const requests = await asked(
      {
        instruction: '{artifact.rules.md} {artifact.more?} Turn {turn}.',
        afterModelCallback: async ({context}) => {
          await context.saveArtifact('more', {text: 'Be kind.'});
        },
      },
      {artifactService},
    );
    expect(system(requests)).toEqual(['Be brief.  Turn first.', 'Be brief. Be kind. Turn first.', 'Be brief. Be kind. Turn second.']);
  });

  test.each([
    ['that is missing', '{artifact.gone}', 'Expected `artifact.gone` to be a saved artifact'],
    ['that is an image', '{artifact.photo?}', 'Expected `artifact.photo` to be text that is stored as such, to stand in an instruction'],
  ])('%s ends the run with an error before the model is asked', async (_, instruction, message) => {
    const artifactService = new InMemoryArtifactService();
    await artifactService.saveArtifact({...key, filename: 'photo', artifact: {inlineData: {mimeType: 'image/png', data: 'AAAA'}}});
    const it = await stage({agent: {instruction}, runner: {artifactService}});
    expect(await collect(it.run())).toMatchObject({events: [], error: {code: 'INVALID_OPTION', message: expect.stringContaining(message)}});
    expect(it.model.calls).toBe(0);
  });

  test('without an artifact service is an error', async () => {
    const agent = new LlmAgent({name: 'root', model: new ScriptedLlm(), instruction: '{artifact.a?}'});
    const bare = new Runner({agent, appName: 'app', sessionService: new InMemorySessionService(), autoCreateSession: true});
    const {error} = await collect(bare.runAsync({userId: 'u', sessionId: 's', newMessage: said('go')}));
    expect(error).toMatchObject({message: 'Expected `artifactService` to be an option of the runner, got undefined'});
  });

  test('is loaded once by a run that is replayed', async () => {
    const {told} = await tellTwice((log) => {
      class Counting extends InMemoryArtifactService {
        override async loadArtifact(): Promise<{text: string}> {
          log.push('load');
          return {text: 'Be brief.'};
        }
      }
      return {
        steps: [functionCalls({name: 'echo'}), 'done'],
        agent: {instruction: '{artifact.a}', tools: [echo]},
        runner: {artifactService: new Counting()},
      };
    });
    expect(told.log).toEqual(['load', 'load']);
    expect(told.requests).toMatchObject([{config: {systemInstruction: 'Be brief.'}}, {config: {systemInstruction: 'Be brief.'}}]);
  });

  test('that never arrives does not hold up a stop', async () => {
    const loading = Promise.withResolvers<void>();
    class Deaf extends InMemoryArtifactService {
      override loadArtifact(): Promise<undefined> {
        loading.resolve();
        return new Promise(() => {});
      }
    }
    const stop = new AbortController();
    const it = await stage({agent: {instruction: '{artifact.a}'}, runner: {artifactService: new Deaf()}, runConfig: {abortGraceMs: 1}});
    const reading = collect(it.run('go', {abortSignal: stop.signal}));
    await loading.promise;
    const reason = new Error('enough');
    stop.abort(reason);
    expect((await reading).error).toBe(reason);
    expect(it.diagnostics.map(({code, name}) => `${code} ${name}`)).toEqual(['WORK_ABANDONED instruction of root']);
    expectNoListeners(stop.signal);
  });
});

describe('globalInstruction', () => {
  test("stands before the instruction of every agent of the tree; only the root's counts", async () => {
    const [one, two] = [
      new ScriptedLlm({steps: ['one']}),
      new ScriptedLlm({steps: [functionCalls({name: 'transfer_to_agent', args: {agentName: 'below'}})]}),
    ];
    const below = new LlmAgent({name: 'below', model: one, instruction: 'Be brief.', globalInstruction: 'Never told.'});
    const agent = new LlmAgent({
      name: 'root',
      model: two,
      subAgents: [below],
      globalInstruction: 'We are in {city}.',
      instruction: 'Hand over.',
    });
    const it = await stage({runner: {agent}});
    await collect(it.run('go', {stateDelta: {city: 'Rome'}}));
    const [first, second] = system([...two.requests, ...one.requests]) as [string, string];
    expect(first).toMatch(/^We are in Rome\.\n\nHand over\.\n\nYou work with other agents/);
    expect(second).toMatch(/^We are in Rome\.\n\nBe brief\.\n\nYou work with other agents/);
  });

  test.each<[string, Partial<LlmAgentConfig>, unknown]>([
    ['stands alone where there is no other', {globalInstruction: 'Be kind.'}, 'Be kind.'],
    ['adds nothing where it is empty', {globalInstruction: '', instruction: 'Be brief.'}, 'Be brief.'],
    [
      'is what a function gives, without templating',
      {globalInstruction: async ({agentName, state}) => `${agentName} ${state.get('turn', '')} {turn}`, instruction: () => 'In {turn}.'},
      'root first {turn}\n\nIn {turn}.',
    ],
    ['adds nothing where its function gives an empty text', {globalInstruction: () => ''}, undefined],
  ])('%s', async (_, agent, expected) => {
    expect(system(await asked(agent))[0]).toEqual(expected);
  });

  test('of a root that is no LlmAgent is none', async () => {
    const model = new ScriptedLlm({steps: ['one']});
    const agent = new SequentialAgent({name: 'root', subAgents: [new LlmAgent({name: 'a', model, globalInstruction: 'Never told.'})]});
    const it = await stage({runner: {agent}});
    await collect(it.run());
    expect(system(model.requests)).toEqual([undefined]);
  });

  test.each(['instruction', 'globalInstruction'] as const)('%s that throws, or gives no text, is an error of that hook', async (hook) => {
    const fails = () => {
      throw new Error('of my own');
    };
    await expect(asked({[hook]: fails})).rejects.toMatchObject({
      code: 'HOOK_FAILED',
      hook,
      message: `\`${hook}\` of \`root\` threw: of my own`,
    });
    await expect(asked({[hook]: () => 7 as never})).rejects.toMatchObject({
      hook,
      message: expect.stringContaining(`Expected \`${hook}\` to be a function that gives a string, got 7`),
    });
  });

  test('is asked once at each request by a run that is replayed', async () => {
    const {told} = await tellTwice((log) => ({
      steps: [functionCalls({name: 'echo'}), 'done'],
      agent: {globalInstruction: () => `time ${log.push('asked')}`, instruction: () => 'Be brief.', tools: [echo]},
    }));
    expect(told.log).toEqual(['asked', 'asked']);
    expect(told.requests.map((request) => (request as LlmRequest).config.systemInstruction)).toEqual([
      'time 1\n\nBe brief.',
      'time 2\n\nBe brief.',
    ]);
  });

  test('that never comes does not hold up a stop, and its context is revoked', async () => {
    const asking = Promise.withResolvers<() => unknown>();
    const stop = new AbortController();
    const it = await stage({
      agent: {
        globalInstruction: (context) => {
          asking.resolve(() => context.state);
          return new Promise(() => {});
        },
      },
      runConfig: {abortGraceMs: 1},
    });
    const reading = collect(it.run('go', {abortSignal: stop.signal}));
    const touch = await asking.promise;
    stop.abort(new Error('enough'));
    expect((await reading).error).toBe(stop.signal.reason);
    expect(touch).toThrow('after its call had ended');
    expect(it.diagnostics.map(({code, name}) => `${code} ${name}`)).toEqual(['WORK_ABANDONED globalInstruction of root']);
    expectNoListeners(stop.signal);
  });
});

describe('staticInstruction', () => {
  test('is the system instruction of every request; the others stand before the latest words of the user', async () => {
    const requests = await asked({
      staticInstruction: 'You are {name}.',
      globalInstruction: 'Be kind.',
      instruction: 'Turn {turn}.',
    });
    expect(system(requests)).toEqual(['You are {name}.', 'You are {name}.', 'You are {name}.']);
    expect(requests.map(brief)).toEqual([
      ['user Be kind.\n\nTurn first.', 'user first'],
      ['user first', 'model echo', 'user =echo', 'user Be kind.\n\nTurn first.'],
      ['user first', 'model echo', 'user =echo', 'model one', 'user Be kind.\n\nTurn second.', 'user second'],
    ]);
  });

  test('stands alone where there is no other', async () => {
    const requests = await asked({staticInstruction: 'You are Ann.'});
    expect(system(requests)).toEqual(['You are Ann.', 'You are Ann.', 'You are Ann.']);
    expect(brief(requests[0] as LlmRequest)).toEqual(['user first']);
  });

  test('stands before all words that the user has said in a row', async () => {
    const it = await stage({steps: [new Error('down'), 'hello'], agent: {staticInstruction: 'You are Ann.', instruction: 'Be brief.'}});
    for (const text of ['first', 'again']) await collect(it.run(text));
    expect(brief(it.model.requests[1] as LlmRequest)).toEqual(['user Be brief.', 'user first', 'user again']);
  });

  test.each<[string, NonNullable<LlmAgentConfig['staticInstruction']>]>([
    ['a content', {role: 'system', parts: [{text: 'You are Ann.'}, {fileData: {mimeType: 'application/pdf', fileUri: 'gs://a/b'}}]}],
    ['parts', ['You are Ann.', {text: 'Be brief.'}]],
    ['a part', {text: 'You are Ann.'}],
  ])('may be %s; what a hook changes in a request stays in that request', async (_, staticInstruction) => {
    const given = structuredClone(staticInstruction);
    const seen: unknown[] = [];
    await asked({
      staticInstruction,
      beforeModelCallback: ({request}) => {
        seen.push(structuredClone(request.config.systemInstruction));
        Object.assign(request.config.systemInstruction as object, {changed: true, 0: 'changed'});
      },
    });
    expect(seen).toEqual([given, given, given]);
    expect(staticInstruction).toEqual(given);
  });

  test('goes before what the agent has to know of other agents', async () => {
    const below = new LlmAgent({name: 'below', description: 'Knows.', model: new ScriptedLlm()});
    const requests = await asked({staticInstruction: 'You are Ann.', instruction: 'Be brief.', subAgents: [below]});
    const [first, , third] = system(requests);
    expect(first).toMatch(/^You are Ann\.\n\nYou work with other agents:/);
    expect(third).toBe(first);
  });

  test('on a live connection comes first in the setup, and the others behind it', async () => {
    await using it = await liveStage({agent: {staticInstruction: 'You are Ann.', instruction: 'Be brief.'}});
    const queue = new LiveRequestQueue();
    queue.close();
    await collect(it.stage.runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue: queue}));
    expect(it.server.sessions[0]?.setup).toMatchObject({systemInstruction: {parts: [{text: 'You are Ann.\n\nBe brief.'}]}});
  });

  test.each([5, null, true])('cannot be %j', (staticInstruction) => {
    const make = () => new LlmAgent({name: 'root', model: new ScriptedLlm(), staticInstruction: staticInstruction as never});
    expect(make).toThrow('Expected `root.staticInstruction` to be a string, a content or parts, got ');
  });

  test('globalInstruction cannot be an object', () => {
    const make = () => new LlmAgent({name: 'root', model: new ScriptedLlm(), globalInstruction: {} as never});
    expect(make).toThrow('Expected `root.globalInstruction` to be a string, or a function, got an object (Object)');
  });
});
