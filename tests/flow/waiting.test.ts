import {describe, expect, test} from 'vitest';
import {
  createEvent,
  FunctionTool,
  getFunctionCalls,
  getPendingUserInputRequests,
  LlmAgent,
  LongRunningFunctionTool,
  Runner,
  type BasePlugin,
  type Event,
  type FunctionCall,
  type FunctionToolOptions,
  type LlmAgentConfig,
  type RunRequest,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage, type Stage, type StageOptions} from '../stories/kit.ts';

const calling = (...names: readonly string[]): ScriptedStep => functionCalls(...names.map((name) => ({name, args: {}})));
const to = (agentName: string): FunctionCall => ({name: 'transfer_to_agent', args: {agentName}});

/** A tool that is to be confirmed, and what it was run with. */
function pay(options: Partial<FunctionToolOptions> = {}): {tool: FunctionTool; paid: unknown[]} {
  const paid: unknown[] = [];
  const execute = (args: Record<string, unknown>): string => (paid.push(args), 'paid');
  return {paid, tool: new FunctionTool({name: 'pay', description: 'Pays.', requireConfirmation: true, execute, ...options})};
}

const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({status: 'ordered'})});

function agent(name: string, steps: readonly ScriptedStep[], config: Partial<LlmAgentConfig> = {}): LlmAgent & {model: ScriptedLlm} {
  const model = new ScriptedLlm({steps});
  return Object.assign(new LlmAgent({name, description: name, model, ...config}), {model});
}

/** Answers what the session waits for, each kind in its own way; long-running calls with `ok`. */
async function answers(it: Stage, kinds?: readonly string[]): Promise<Partial<RunRequest>> {
  const responses = {input: {result: 'yes'}, confirmation: {confirmed: true}, credential: {key: 'k'}};
  const requests = getPendingUserInputRequests(await it.stored()).filter(({kind}) => kinds?.includes(kind) ?? true);
  const parts = requests.map(({kind, interruptId: id, functionCallName: name}) => ({
    functionResponse: {id, name, response: responses[kind]},
  }));
  return {newMessage: {role: 'user', parts}};
}

const answerTo = (id: string | undefined, name: string, response: object): Partial<RunRequest> => ({
  newMessage: {role: 'user', parts: [{functionResponse: {id: id ?? '', name, response: {...response}}}]},
});

const lastRequest = (model: ScriptedLlm): unknown[] =>
  (model.requests.at(-1)?.contents ?? []).flatMap(({parts = []}) =>
    parts.flatMap(({functionResponse}) => (functionResponse ? [functionResponse.response] : [])),
  );

async function asking(steps: readonly ScriptedStep[], tool: FunctionTool, options: StageOptions = {}): Promise<Stage> {
  const it = await stage({steps, ...options, agent: {tools: [tool], ...options.agent}});
  const run = it.run();
  await collect(run);
  expect((await run.settled).kind).toBe('waiting');
  return it;
}

describe('a call that was granted, where something comes between the answer and the call', () => {
  class Gate implements Partial<BasePlugin> {
    readonly name = 'gate';
    block: (() => unknown) | undefined;

    async beforeRunCallback(): Promise<undefined> {
      return (await this.block?.()) as undefined;
    }
  }

  test.each([
    ['a hook that throws', () => Promise.reject(new Error('down')), 'error'],
    ['a hook that answers', () => ({role: 'model', parts: [{text: 'Not now.'}]}), 'done'],
  ])('is answered as cancelled after %s, and never runs', async (_, block, kind) => {
    const gate = new Gate();
    const {tool, paid} = pay();
    const it = await asking([calling('pay'), 'Too bad.'], tool, {runner: {plugins: [gate]}});
    const answer = await answers(it);
    gate.block = block;
    const run = it.run('', answer);
    await collect(run);
    expect((await run.settled).kind).toBe(kind);
    expect((await it.stored()).map(line).at(-1)).toBe('root: pay={"error":"cancelled","started":false}');
    gate.block = undefined;
    expect((await collect(it.run('', answer))).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
    await collect(it.run('and now?'));
    expect(lastRequest(it.model)).toEqual([{error: 'cancelled', started: false}]);
    expect(paid).toEqual([]);
  });

  test('is answered as cancelled after a stop, in one closing Event with the siblings it was granted with', async () => {
    const gate = new Gate();
    const {tool, paid} = pay();
    const it = await asking([calling('pay', 'pay')], tool, {runner: {plugins: [gate]}});
    const stop = new AbortController();
    const reason = new Error('enough');
    gate.block = () => (stop.abort(reason), undefined);
    const {error} = await collect(it.run('', {...(await answers(it)), abortSignal: stop.signal}));
    expect(error).toBe(reason);
    const cancelled = 'pay={"error":"cancelled","started":false}';
    expect((await it.stored()).map(line).at(-1)).toBe(`root: ${cancelled} ${cancelled}`);
    expectNoListeners(stop.signal);
    expect(paid).toEqual([]);
  });

  test('may have taken effect, the model is told, after a crash', async () => {
    const {tool} = pay();
    const it = await asking([calling('pay'), 'Hm.'], tool);
    const answer = await answers(it);
    const session = await it.runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
    if (!session) throw new Error('no session');
    const {newMessage} = answer;
    await it.runner.sessionService.appendEvent({
      session,
      event: createEvent({author: 'user', invocationId: 'gone', content: newMessage ?? {}}),
    });
    expect((await collect(it.run('', answer))).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
    const {outcome} = await collect(it.run('and?'));
    expect(outcome.kind).toBe('done');
    expect(lastRequest(it.model)).toEqual([{error: expect.stringContaining('may have taken effect')}]);
  });

  test('is refused, and can be granted later, while the tree does not have its agent', async () => {
    const {tool, paid} = pay();
    const it = await asking([calling('pay'), 'Done.'], tool);
    const {sessionService} = it.runner;
    const renamed = new Runner({appName: 'app', agent: agent('renamed', [], {tools: [tool]}), sessionService});
    const answer = await answers(it);
    const before = await it.stored();
    const {error} = await collect(renamed.runAsync({userId: 'u', sessionId: 's', newMessage: {}, ...answer}));
    expect(error).toMatchObject({name: 'FunctionResponseError', code: 'AGENT_NOT_FOUND'});
    expect(await it.stored()).toEqual(before);
    await collect(it.run('', answer));
    expect(paid).toHaveLength(1);
  });

  test('is run after a crash between the question and its response, and nobody else is waited for', async () => {
    const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'seen'});
    const {tool, paid} = pay();
    const it = await stage({steps: [calling('pay', 'look'), 'Done.'], agent: {tools: [tool, look]}});
    await collect(it.run());
    const {sessionService} = it.runner;
    const session = await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 'crashed'});
    for (const event of (await it.stored()).slice(0, -1)) await sessionService.appendEvent({session, event});
    const run = it.run('', {...(await answers(it)), sessionId: 'crashed'});
    expect((await collect(run)).events.map(line)).toEqual(['root: pay={"result":"paid"}', 'root: "Done."']);
    expect(lastRequest(it.model)).toEqual([{result: 'paid'}, {error: expect.stringContaining('may have taken effect')}]);
    expect(paid).toHaveLength(1);
  });
});

describe('what a call was granted', () => {
  const login = (requests: 'one after the other' | 'both at once'): {tool: FunctionTool; ran: unknown[]} => {
    const ran: unknown[] = [];
    const tool = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      requireConfirmation: requests === 'one after the other',
      execute: (_args, context) => {
        const {toolConfirmation} = context;
        const auth = context.getAuthResponse();
        if (auth === undefined) context.requestCredential({scheme: 'key'});
        if (!toolConfirmation) context.requestConfirmation({hint: 'Really?'});
        if (auth === undefined || !toolConfirmation) return undefined;
        ran.push([toolConfirmation.confirmed, auth]);
        return 'paid';
      },
    });
    return {tool, ran};
  };

  test('adds up over the runs that bring it', async () => {
    const {tool, ran} = login('one after the other');
    const it = await asking([calling('pay'), 'Done.'], tool);
    const kinds: unknown[] = [];
    for (let at = 0; at < 2; at++) kinds.push((await collect(it.run('', await answers(it)))).outcome.kind);
    expect(kinds).toEqual(['waiting', 'done']);
    expect(ran).toEqual([[true, {key: 'k'}]]);
    expectValid((await it.stored()).filter((event) => !getFunctionCalls(event).some(({name}) => name?.startsWith('adk_'))));
  });

  test.each([[['confirmation', 'credential']], [['credential', 'confirmation']]])(
    'is waited for in full: %j, each in a message of its own',
    async (order) => {
      const {tool, ran} = login('both at once');
      const it = await asking([calling('pay'), 'Done.'], tool);
      const seen: unknown[] = [];
      for (const kind of order) {
        const {events, outcome} = await collect(it.run('', await answers(it, [kind])));
        seen.push([events.map(line), outcome.kind, outcome.llmCalls]);
      }
      expect(seen).toEqual([
        [[], 'waiting', 0],
        [['root: pay={"result":"paid"}', 'root: "Done."'], 'done', 1],
      ]);
      expect(ran).toEqual([[true, {key: 'k'}]]);
    },
  );

  test('counts no more once it was refused: the other question is over too', async () => {
    const {tool, ran} = login('both at once');
    const it = await asking([calling('pay'), 'As you like.'], tool);
    const credential = await answers(it, ['credential']);
    const request = getPendingUserInputRequests(await it.stored()).find(({kind}) => kind === 'confirmation');
    const refusal = answerTo(request?.interruptId, request?.functionCallName ?? '', {confirmed: false});
    expect((await collect(it.run('', refusal))).events.map(line)).toEqual([
      'root: pay={"error":"The user refused this call"}',
      'root: "As you like."',
    ]);
    expect(getPendingUserInputRequests(await it.stored())).toEqual([]);
    expect((await collect(it.run('', credential))).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
    expect(ran).toEqual([]);
  });

  test('is nothing for a call that asked and then failed: nobody is asked', async () => {
    const tool = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      execute: (_args, context) => {
        context.requestConfirmation({hint: 'Really?'});
        throw new Error('broken');
      },
    });
    const it = await stage({steps: [calling('pay'), 'Sorry.'], agent: {tools: [tool]}});
    expect((await collect(it.run())).events.map(line)).toEqual(['root: pay({})', 'root: pay={"error":"broken"}', 'root: "Sorry."']);
  });
});

describe('an answer is bound to what was asked', () => {
  test.each([
    [{confirmed: false, response: '{"confirmed":true}'}, 0],
    [{response: '{"confirmed":true}'}, 1],
  ])('%j counts by what it says itself', async (response, times) => {
    const {tool, paid} = pay();
    const it = await asking([calling('pay'), 'Done.'], tool);
    const [request] = getPendingUserInputRequests(await it.stored());
    await collect(it.run('', answerTo(request?.interruptId, request?.functionCallName ?? '', response)));
    expect(paid).toHaveLength(times);
  });

  test('one that names another function is refused, also for a long-running call', async () => {
    const {tool, paid} = pay();
    const it = await asking([calling('pay'), 'Done.'], tool);
    const [request] = getPendingUserInputRequests(await it.stored());
    const {error} = await collect(it.run('', answerTo(request?.interruptId, 'some_other', {confirmed: true})));
    expect([error, paid]).toMatchObject([{code: 'FUNCTION_NAME_MISMATCH'}, []]);
    const other = await asking([calling('order'), 'Done.'], order);
    const id = getFunctionCalls((await other.stored())[1] ?? createEvent())[0]?.id;
    expect((await collect(other.run('', answerTo(id, 'pay', {ok: true})))).error).toMatchObject({code: 'FUNCTION_NAME_MISMATCH'});
  });

  /** The session of a run that asked, with one Event changed in the store. */
  async function tampered(it: Stage, at: number, change: (event: Event) => Event): Promise<string> {
    const {sessionService} = it.runner;
    const session = await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 'tampered'});
    for (const [index, event] of (await it.stored()).entries())
      await sessionService.appendEvent({session, event: index === at ? change(structuredClone(event)) : event});
    return session.id;
  }

  const withCall = (event: Event, call: object): Event => {
    const [part] = event.content?.parts ?? [];
    return {...event, content: {role: 'model', parts: [{functionCall: {...part?.functionCall, ...call}}]}};
  };

  test('what the user was shown is what runs, whatever has become of the call in the store', async () => {
    const {tool, paid} = pay();
    const it = await asking([functionCalls({name: 'pay', args: {to: 'bob'}}), 'Done.'], tool);
    const sessionId = await tampered(it, 1, (event) => withCall(event, {args: {to: 'mallory'}}));
    await collect(it.run('', {...(await answers(it)), sessionId}));
    expect(paid).toEqual([{to: 'bob'}]);
  });

  test('a call that has become another one is refused before anything is stored', async () => {
    const wiped: unknown[] = [];
    const wipe = new FunctionTool({name: 'wipe', description: 'Wipes.', execute: () => wiped.push(1)});
    const {tool} = pay();
    const it = await asking([calling('pay')], tool, {agent: {tools: [tool, wipe]}});
    const sessionId = await tampered(it, 1, (event) => withCall(event, {name: 'wipe'}));
    const {error} = await collect(it.run('', {...(await answers(it)), sessionId}));
    expect([error, wiped]).toMatchObject([{code: 'FUNCTION_CALL_CHANGED'}, []]);
  });

  test('a question that bears the name of a user asks nobody', async () => {
    const {tool, paid} = pay();
    const it = await asking([calling('pay')], tool);
    const sessionId = await tampered(it, 2, (event) => ({...event, author: 'user'}));
    const {error} = await collect(it.run('', {...(await answers(it)), sessionId}));
    expect([error, paid]).toMatchObject([{code: 'UNKNOWN_FUNCTION_CALL'}, []]);
  });

  test('answers to two agents that do not run together go into two messages', async () => {
    const {tool, paid} = pay();
    const sub = agent('sub', [calling('pay'), 'Sub done.'], {tools: [tool]});
    const root = agent('root', [calling('pay'), functionCalls(to('sub')), 'Root done.'], {tools: [tool], subAgents: [sub]});
    const it = await stage({runner: {agent: root}});
    for (const said of ['first', 'second']) await collect(it.run(said));
    const both = await answers(it);
    const before = await it.stored();
    expect((await collect(it.run('', both))).error).toMatchObject({code: 'INVALID_OPTION', message: expect.stringContaining('one agent')});
    expect(await it.stored()).toEqual(before);
    for (const part of both.newMessage?.parts ?? []) await collect(it.run('', {newMessage: {role: 'user', parts: [part]}}));
    expect(paid).toHaveLength(2);
    expect((await it.stored()).map(line).slice(-1)).toEqual(['sub: "Sub done."']);
  });
});

describe('a batch with a call that waits', () => {
  test.each(['a granted call', 'a long-running call'])('hands over when it is answered, and not before: %s', async (kind) => {
    const {tool} = pay();
    const name = kind === 'a granted call' ? 'pay' : 'order';
    const sub = agent('sub', ['At your service.', 'Anything else?']);
    const root = agent('root', [functionCalls({name}, to('sub'))], {tools: [tool, order], subAgents: [sub]});
    const it = await stage({runner: {agent: root}});
    const first = await collect(it.run('go'));
    expect([first.outcome.kind, first.events.at(-1)?.longRunningToolIds?.length]).toEqual(['waiting', 1]);
    const id = getFunctionCalls(first.events[0] ?? createEvent())[0]?.id;
    const {events, outcome} = await collect(it.run('', name === 'pay' ? await answers(it) : answerTo(id, name, {ok: true})));
    expect([events.map(line).at(-1), outcome.kind]).toEqual(['sub: "At your service."', 'done']);
    expect((await collect(it.run('next'))).events.map(line)).toEqual(['sub: "Anything else?"']);
    expect(root.model.calls).toBe(1);
  });

  test('gives its output when it is answered, and not before', async () => {
    const {tool} = pay();
    const outputSchema = {type: 'object', properties: {n: {type: 'number'}}, required: ['n']};
    const steps = [functionCalls({name: 'pay'}, {name: 'set_model_response', args: {n: 5}})];
    const it = await stage({steps, agent: {tools: [tool], outputSchema}});
    const user = {userId: 'u', sessionId: 's'};
    await expect(it.runner.run({...user, newMessage: {parts: [{text: 'go'}]}})).rejects.toMatchObject({code: 'RUN_WAITING'});
    const {newMessage = {}} = await answers(it);
    expect((await it.runner.run({...user, newMessage})).output).toEqual({n: 5});
    expect(it.model.calls).toBe(1);
  });

  test.each([
    ['hands over', {transferToAgent: 'sub'}, ['root: pay={"result":null}', 'sub: "Hello."']],
    ['ends the run', {skipSummarization: true}, ['root: pay={"result":null}']],
  ])('%s where the granted call says so', async (_, actions, expected) => {
    const {tool} = pay({execute: (_args, context) => void Object.assign(context.actions, actions)});
    const root = agent('root', [calling('pay')], {tools: [tool], subAgents: [agent('sub', ['Hello.'])]});
    const it = await stage({runner: {agent: root}});
    await collect(it.run());
    expect((await collect(it.run('', await answers(it)))).events.map(line)).toEqual(expected);
    expect(root.model.calls).toBe(1);
  });
});
