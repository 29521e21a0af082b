import {describe, expect, test} from 'vitest';
import {
  BaseAgent,
  createEvent,
  HookError,
  LlmAgent,
  LongRunningFunctionTool,
  type Content,
  type Event,
  type InvocationContext,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {expectValid, line, lines, stage} from '../stories/kit.ts';
import {broken, echo, HOOKS, noting, occasion, pluginOf, type Hook, type Hooks} from './kit.ts';

const content = (text: string): Content => ({role: 'model', parts: [{text}]});

/** Hooks that an agent has too, and those whose result counts: what it is, and what the reader then gets. */
const shared = HOOKS.filter((hook) => /^(before|after)(Agent|Model|Tool)|^on(Model|Tool)Error/.test(hook));
const results: Partial<Record<Hook, {readonly result: unknown; readonly events: readonly string[]}>> = {
  onUserMessageCallback: {result: {parts: [{text: 'stop'}]}, events: ['root: "done"']},
  beforeRunCallback: {result: content('closed'), events: ['root: "closed"']},
  onEventCallback: {result: createEvent({author: 'root', content: content('changed')}), events: ['root: "changed"']},
  beforeAgentCallback: {result: content('away'), events: ['root: "away"']},
  afterAgentCallback: {result: content('bye'), events: ['root: "done"', 'root: "bye"']},
  beforeModelCallback: {result: {content: content('known')}, events: ['root: "known"']},
  afterModelCallback: {result: {content: content('better')}, events: ['root: "better"']},
  onModelErrorCallback: {result: {content: content('sorry')}, events: ['root: "sorry"']},
  beforeToolCallback: {result: {cached: 1}, events: ['root: echo({})', 'root: echo={"cached":1}', 'root: "done"']},
  afterToolCallback: {result: {kept: 2}, events: ['root: echo({})', 'root: echo={"kept":2}', 'root: "done"']},
  onToolErrorCallback: {result: {tried: 3}, events: ['root: broken({})', 'root: broken={"tried":3}', 'root: "done"']},
};

/** Hooks of the same name on two plugins and, where it can have them, on the agent. */
function rivals(hook: Hook, log: string[], of: Partial<Record<'a' | 'b' | 'agent', () => unknown>> = {}) {
  const rival = (name: 'a' | 'b' | 'agent') => ({
    [hook]: () => {
      log.push(name);
      return of[name]?.();
    },
  });
  const {steps, agent} = occasion(hook);
  return stage({
    steps,
    agent: {...agent, ...(shared.some((it) => it === hook) && rival('agent'))},
    runner: {plugins: [pluginOf('a', rival('a')), pluginOf('b', rival('b'))]},
  });
}

describe.each(HOOKS)('%s', (hook) => {
  const everybody = shared.some((it) => it === hook) ? ['a', 'b', 'agent'] : ['a', 'b'];

  test('asks the plugins in their order, then the agent', async () => {
    const log: string[] = [];
    const it = await rivals(hook, log);
    await collect(it.run());
    await it.runner.close();
    expect(log).toEqual(everybody);
  });

  test('that throws ends the run with an error that names it and its plugin', async () => {
    // These are called when the run has ended already: what they throw is a diagnostic.
    if (hook === 'close' || hook === 'onRunErrorCallback') return;
    const log: string[] = [];
    const cause = new Error('of my own');
    const it = await rivals(hook, log, {
      b: () => {
        throw cause;
      },
    });
    const {error, outcome} = await collect(it.run());
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({hook, cause, message: `\`${hook}\` of \`b\` threw: of my own`});
    expect(outcome.kind).toBe('error');
    expect(log).toEqual(['a', 'b']);
    expectValid(await it.stored());
  });
});

describe.each(Object.entries(results))('the first result of %s', (hook, {result, events}) => {
  test.each(['a', 'b'] as const)('wins where it comes from plugin %s, and nobody is asked after it', async (name) => {
    const log: string[] = [];
    const it = await rivals(hook as Hook, log, {[name]: () => result});
    expect(await lines(it.run())).toEqual(events);
    expect(log).toEqual(name === 'a' ? ['a'] : ['a', 'b']);
    expect((await it.stored()).slice(1).map(line)).toEqual(events);
  });
});

test('a run with tools calls every hook in its order, and one without plugins comes to the same events', async () => {
  const told = async (log: string[], hasPlugin: boolean) => {
    const it = await stage({
      steps: [functionCalls({name: 'echo'}, {name: 'broken'}), 'done'],
      agent: {tools: [echo, broken]},
      ...(hasPlugin && {runner: {plugins: [noting('all', log)]}}),
    });
    return {read: await lines(it.run()), stored: (await it.stored()).map(line)};
  };
  const log: string[] = [];
  expect(await told(log, true)).toEqual(await told([], false));
  expect(log.map((it) => it.replace(/all (\w+?)(Callback)?$/, '$1'))).toEqual([
    'onUserMessage',
    'beforeRun',
    'beforeAgent',
    'beforeModel',
    'afterModel',
    'onEvent',
    'beforeTool',
    'beforeTool',
    'afterTool',
    'onToolError',
    'onEvent',
    'beforeModel',
    'afterModel',
    'onEvent',
    'afterAgent',
    'afterRun',
  ]);
});

describe('onUserMessageCallback', () => {
  test('replaces what is stored, sent and shown to everybody after it', async () => {
    const seen: unknown[] = [];
    const it = await stage({
      steps: ['done'],
      runner: {
        plugins: [
          pluginOf('masks', {
            onUserMessageCallback: ({userMessage}) => ({parts: [{text: `${userMessage.parts?.[0]?.text} (masked)`}]}),
            beforeRunCallback: ({invocationContext}) => void seen.push(invocationContext.userContent),
            beforeModelCallback: ({callbackContext}) => void seen.push(callbackContext.userContent),
          }),
        ],
      },
    });
    await lines(it.run('my number is 7'));
    expect((await it.stored()).map(line)).toEqual(['user: "my number is 7 (masked)"', 'root: "done"']);
    expect(it.model.requests[0]?.contents).toEqual([{role: 'user', parts: [{text: 'my number is 7 (masked)'}]}]);
    expect(seen).toEqual(Array.from({length: 2}, () => ({parts: [{text: 'my number is 7 (masked)'}]})));
  });

  test('that changes the message in place changes the run and not what the caller holds', async () => {
    const plugin = pluginOf('masks', {onUserMessageCallback: ({userMessage}) => void (userMessage.parts = [{text: 'masked'}])});
    const it = await stage({steps: ['done'], runner: {plugins: [plugin]}});
    const newMessage = {role: 'user', parts: [{text: 'secret'}]};
    await lines(it.run('', {newMessage}));
    expect((await it.stored()).map(line)).toEqual(['user: "masked"', 'root: "done"']);
    expect(newMessage).toEqual({role: 'user', parts: [{text: 'secret'}]});
  });

  test.each([
    ['no content', 'text', 'Expected `the message of odd` to be a content'],
    ['nothing', {parts: []}, 'a message that is not empty'],
    ['a call', {parts: [{functionCall: {name: 'echo'}}]}, 'without functionCall'],
    ['an answer of its own', {parts: [{functionResponse: {id: 'x', name: 'echo', response: {}}}]}, 'with the same function calls'],
  ])('that gives %s is an error before anything is stored', async (_, given, message) => {
    const it = await stage({runner: {plugins: [pluginOf('odd', {onUserMessageCallback: () => given as Content})]}});
    const {error} = await collect(it.run());
    expect(error).toMatchObject({code: 'HOOK_FAILED', hook: 'onUserMessageCallback', message: expect.stringContaining(message)});
    expect(await it.stored()).toEqual([]);
  });

  test('sees the answer to a call that waits, and may change what it says', async () => {
    const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks.', execute: () => undefined});
    const log: string[] = [];
    const it = await stage({
      steps: [functionCalls({name: 'ask', id: '1'}, {name: 'ask', id: '2'}), 'done'],
      agent: {tools: [ask]},
      runner: {
        plugins: [
          noting('all', log, {
            onUserMessageCallback: ({userMessage: {parts = []}}) => {
              for (const {functionResponse} of parts) if (functionResponse) functionResponse.response = {answer: 'checked'};
            },
          }),
        ],
      },
    });
    await lines(it.run());
    const ids = (await it.stored()).at(-1)?.longRunningToolIds ?? [];
    log.length = 0;
    const answer = (id: string) => ({newMessage: {parts: [{functionResponse: {id, name: 'ask', response: {answer: 'raw'}}}]}});
    expect(await lines(it.run('', answer(ids[0] ?? '')))).toEqual([]);
    // A sibling still waits: the run stores the answer and ends.
    expect(log).toEqual(['all onUserMessageCallback', 'all afterRunCallback']);
    expect(await lines(it.run('', answer(ids[1] ?? '')))).toEqual(['root: "done"']);
    expect(JSON.stringify(it.model.requests[1]?.contents)).not.toContain('raw');
  });
});

describe('onEventCallback', () => {
  const rewritten = (event: Event, text: string): Event => ({...event, content: content(text)});

  test('sees every whole event but the message, and what it gives is stored, read and sent on', async () => {
    const seen: string[] = [];
    const it = await stage({
      steps: [functionCalls({name: 'echo'}), 'my secret'],
      agent: {tools: [echo], afterAgentCallback: () => content('after')},
      runner: {
        plugins: [
          pluginOf('censor', {
            onEventCallback: ({event}) => {
              seen.push(line(event));
              return line(event).includes('secret') ? rewritten(event, '***') : undefined;
            },
          }),
        ],
      },
    });
    const expected = ['root: echo({})', 'root: echo={"result":"said"}', 'root: "***"', 'root: "after"'];
    expect(await lines(it.run())).toEqual(expected);
    expect(seen).toEqual(['root: echo({})', 'root: echo={"result":"said"}', 'root: "my secret"', 'root: "after"']);
    expect((await it.stored()).map(line)).toEqual(['user: "go"', ...expected]);
    it.model.enqueue('again');
    await lines(it.run('and?'));
    expect(JSON.stringify(it.model.requests[2]?.contents)).not.toContain('secret');
  });

  test('may change an event in place, and not its id or its run', async () => {
    const it = await stage({
      steps: [functionCalls({name: 'echo', args: {key: 'k'}}), 'done'],
      agent: {tools: [echo]},
      runner: {
        plugins: [
          pluginOf('censor', {
            onEventCallback: ({event}) => {
              for (const {functionCall} of event.content?.parts ?? []) if (functionCall) functionCall.args = {key: '***'};
              Object.assign(event, {id: 'other', invocationId: 'other', customMetadata: {seen: true}});
            },
          }),
        ],
      },
    });
    const {events} = await collect(it.run());
    const stored = (await it.stored()).slice(1);
    expect(stored).toEqual(events);
    expect(stored.map(line)).toEqual(['root: echo({"key":"***"})', 'root: echo={"result":"said"}', 'root: "done"']);
    expect(stored.every(({customMetadata}) => customMetadata?.['seen'])).toBe(true);
    expect(new Set(stored.map(({id}) => id)).size).toBe(3);
    expect(new Set(stored.map(({invocationId}) => invocationId)).size).toBe(1);
  });

  test.each([
    ['no event', () => 'text', 'an Event, as createEvent makes it'],
    ['a piece', (event: Event) => ({...event, partial: true}), 'whole Events are stored'],
    ['one without its call', (event: Event) => rewritten(event, 'no call'), 'with the same function calls and responses'],
  ])('that gives %s is an error, and the session stays valid', async (_, change, message) => {
    const it = await stage({
      steps: [functionCalls({name: 'echo'}), 'done'],
      agent: {tools: [echo]},
      runner: {plugins: [pluginOf('odd', {onEventCallback: ({event}) => change(event) as Event})]},
    });
    const {events, error} = await collect(it.run());
    expect(events).toEqual([]);
    expect(error).toMatchObject({hook: 'onEventCallback', message: expect.stringContaining(message)});
    expect((await it.stored()).map(line)).toEqual(['user: "go"']);
  });

  test('that fails on responses leaves them stored without what they say, so that every call is answered', async () => {
    const it = await stage({
      steps: [functionCalls({name: 'echo'}, {name: 'echo'})],
      agent: {tools: [echo]},
      runner: {
        plugins: [
          pluginOf('picky', {
            onEventCallback: ({event}) => {
              if (line(event).includes('said')) throw new Error('not that');
            },
          }),
        ],
      },
    });
    const {error} = await collect(it.run());
    expect(error).toMatchObject({hook: 'onEventCallback', message: '`onEventCallback` of `picky` threw: not that'});
    const withheld = 'echo={"error":"cancelled; it may have taken effect","started":true}';
    expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: echo({}) echo({})', `root: ${withheld} ${withheld}`]);
    expectValid(await it.stored());
    expect(it.diagnostics).toMatchObject([
      {code: 'CLOSE_FAILED', name: 'onEventCallback', cause: {message: expect.stringContaining('not that')}},
    ]);
  });
});

test('what hooks write to the state is stored with the event that they lead to', async () => {
  const write = (key: string) => (params: object) => {
    const {callbackContext, toolContext} = params as {callbackContext?: never; toolContext?: never};
    ((callbackContext ?? toolContext) as unknown as {state: Map<string, boolean>}).state.set(key, true);
    return undefined;
  };
  const hooks = HOOKS.filter((hook) => /Agent|Model|Tool/.test(hook));
  const it = await stage({
    steps: [functionCalls({name: 'broken'}, {name: 'echo'}), new Error('no model')],
    agent: {tools: [echo, broken]},
    runner: {plugins: [pluginOf('writer', Object.fromEntries(hooks.map((hook) => [hook, write(hook)])) as Hooks)]},
  });
  const {events, outcome} = await collect(it.run());
  expect(outcome.kind).toBe('error');
  expect(events.map(({actions}) => Object.keys(actions.stateDelta).toSorted())).toEqual([
    ['beforeAgentCallback'],
    ['afterModelCallback', 'beforeModelCallback'],
    ['afterToolCallback', 'beforeToolCallback', 'onToolErrorCallback'],
    ['onAgentErrorCallback'],
  ]);
  // The agent's last hook runs while the run closes. What was written around a request that failed goes with it.
  expect(Object.keys(await it.state()).toSorted()).toEqual(hooks.filter((hook) => hook !== 'onModelErrorCallback').toSorted());
});

test('an agent is told to the hooks as it is, with the private fields of its own class', async () => {
  class Titled extends LlmAgent {
    readonly #model = new ScriptedLlm({steps: ['done']});
    constructor() {
      super({name: 'root', model: new ScriptedLlm()});
      Object.defineProperty(this, 'canonicalModel', {get: () => this.#model});
    }
    get title(): string {
      return this.#model.model;
    }
  }
  const seen: unknown[] = [];
  const agent = new Titled();
  const plugin = pluginOf('sees', {beforeAgentCallback: ({agent: it}) => void seen.push(it, (it as Titled).title)});
  const it = await stage({runner: {agent, plugins: [plugin]}});
  expect(await lines(it.run())).toEqual(['root: "done"']);
  expect(seen).toEqual([agent, 'scripted']);
  expect(seen[0]).toBe(agent);
});

test('runs of two runners share a plugin, each with its own hooks around it', async () => {
  const log: string[] = [];
  const plugin = pluginOf('shared', {
    beforeRunCallback: ({invocationContext}) => void log.push(`${invocationContext.appName} ${invocationContext.agentName} starts`),
    afterRunCallback: ({invocationContext}) => void log.push(`${invocationContext.appName} ${invocationContext.agentName} ends`),
    close: () => void log.push('close'),
  });
  const [one, two] = await Promise.all([
    stage({steps: ['one'], runner: {plugins: [plugin]}}),
    stage({steps: ['two'], agent: {name: 'other'}, runner: {plugins: [plugin]}}),
  ]);
  const runs = [one.run(), two.run()];
  await Promise.all(runs.map((run) => run.next()));
  await Promise.all(runs.map((run) => collect(run)));
  await Promise.all([one.runner.close(), two.runner.close()]);
  expect(log.toSorted()).toEqual(['app other ends', 'app other starts', 'app root ends', 'app root starts', 'close', 'close']);
});

test('every agent of a tree stands between the hooks, and has callbacks of its own behind them', async () => {
  class Pair extends BaseAgent {
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      for (const agent of this.subAgents) yield* agent.runAsync(context);
    }
  }
  const log: string[] = [];
  const clerk = (name: string) =>
    new LlmAgent({name, model: new ScriptedLlm({steps: ['done']}), beforeModelCallback: () => void log.push(`own model ${name}`)});
  const plugin = pluginOf('names', {
    beforeAgentCallback: ({agent}) => void log.push(`agent ${agent.name}`),
    beforeModelCallback: ({callbackContext}) => void log.push(`model ${callbackContext.agentName}`),
    afterAgentCallback: ({callbackContext}) => void log.push(`after ${callbackContext.agentName}`),
  });
  const it = await stage({runner: {agent: new Pair({name: 'pair', subAgents: [clerk('one'), clerk('two')]}), plugins: [plugin]}});
  expect(await lines(it.run())).toEqual(['one: "done"', 'two: "done"']);
  const around = (name: string) => [`agent ${name}`, `model ${name}`, `own model ${name}`, `after ${name}`];
  expect(log).toEqual(['agent pair', ...around('one'), ...around('two'), 'after pair']);
});
