import {describe, expect, test} from 'vitest';
import {
  FunctionTool,
  getPendingUserInputRequests,
  InMemorySessionService,
  LlmAgent,
  LongRunningFunctionTool,
  ParallelAgent,
  requestInputTool,
  Runner,
  SequentialAgent,
  type BaseAgent,
  type BasePlugin,
  type Event,
  type LlmAgentConfig,
  type Part,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {line} from '../stories/kit.ts';

const calling = (...names: readonly string[]): ScriptedStep => functionCalls(...names.map((name) => ({name, args: {}})));

function payTool(): {tool: FunctionTool; paid: unknown[]} {
  const paid: unknown[] = [];
  const execute = (_args: unknown, {agentName}: {agentName: string}): string => (paid.push(agentName), 'paid');
  return {paid, tool: new FunctionTool({name: 'pay', description: 'Pays.', requireConfirmation: true, execute})};
}

function speaker(name: string, steps: readonly ScriptedStep[], config: Partial<LlmAgentConfig> = {}): LlmAgent & {model: ScriptedLlm} {
  const model = new ScriptedLlm({steps});
  return Object.assign(new LlmAgent({name, model, ...config}), {model});
}

/** One session, and a runner over it. */
class Desk {
  readonly service = new InMemorySessionService();
  readonly runner: Runner;

  constructor(agent: BaseAgent, plugins: readonly Partial<BasePlugin>[] = []) {
    this.runner = new Runner({
      appName: 'app',
      agent,
      sessionService: this.service,
      autoCreateSession: true,
      plugins: plugins as BasePlugin[],
    });
  }

  async run(...parts: readonly Part[]): Promise<{said: string[]; kind: string; waits: number; error: unknown}> {
    const run = this.runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [...parts]}});
    const {events, outcome, error} = await collect(run);
    return {said: events.map(line), kind: outcome.kind, waits: events.at(-1)?.longRunningToolIds?.length ?? 0, error};
  }

  async events(): Promise<Event[]> {
    return (await this.service.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? [];
  }

  /** An answer to each question, in the order in which they were asked. */
  async answers(confirmed = true): Promise<Part[]> {
    return getPendingUserInputRequests(await this.events()).map(({interruptId: id, functionCallName: name, kind}) => ({
      functionResponse: {id, name, response: kind === 'confirmation' ? {confirmed} : {result: 'yes'}},
    }));
  }
}

const go: Part = {text: 'go'};

test.each([
  ['as they were asked', (parts: Part[]) => parts],
  ['the other way round', (parts: Part[]) => parts.toReversed()],
])('answers to two agents of a sequence in one message run both calls, %s', async (_, inOrder) => {
  const {tool, paid} = payTool();
  const a = speaker('a', [calling('pay'), 'A1.', 'A2.'], {tools: [tool]});
  const b = speaker('b', [calling('pay'), 'B.'], {tools: [tool]});
  const desk = new Desk(new SequentialAgent({name: 'all', subAgents: [a, b]}));
  await desk.run(go);
  // The user speaks instead of answering: the sequence begins anew, and b asks.
  await desk.run({text: 'again'});
  const parts = await desk.answers();
  expect(parts).toHaveLength(2);
  expect((await desk.run(...inOrder(parts))).kind).toBe('done');
  expect(paid).toEqual(['a', 'b']);
  expect(await desk.answers()).toEqual([]);
});

describe('a refusal', () => {
  test('of a long-running call is its end', async () => {
    const tool = new LongRunningFunctionTool({name: 'wire', description: 'Wires.', requireConfirmation: true, execute: () => null});
    const desk = new Desk(speaker('root', [calling('wire'), 'As you like.'], {tools: [tool]}));
    await desk.run(go);
    expect(await desk.run(...(await desk.answers(false)))).toMatchObject({
      said: ['root: wire={"error":"The user refused this call"}', 'root: "As you like."'],
      kind: 'done',
    });
    const id = (await desk.events())[1]?.content?.parts?.[0]?.functionCall?.id ?? '';
    const forged = await desk.run({functionResponse: {id, name: 'wire', response: {sent: true}}});
    expect(forged.error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
  });

  test('ends a branch whose call had asked for more, and the sequence goes on', async () => {
    const both = new FunctionTool({
      name: 'both',
      description: 'Asks twice.',
      execute: (_args, context) => {
        context.requestConfirmation({hint: 'Sure?'});
        context.requestCredential({scheme: 'key'});
      },
    });
    const branches = new ParallelAgent({name: 'par', subAgents: [speaker('a', [calling('both'), 'A.'], {tools: [both]})]});
    const desk = new Desk(new SequentialAgent({name: 'all', subAgents: [branches, speaker('z', ['Z.'])]}));
    await desk.run(go);
    const [refusal] = await desk.answers(false);
    expect(await desk.run(...(refusal ? [refusal] : []))).toMatchObject({
      said: ['a: both={"error":"The user refused this call"}', 'a: "A."', 'z: "Z."'],
      kind: 'done',
    });
  });
});

test('a long-running call is answered after a crash ahead of its first response', async () => {
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({ticket: 1})});
  const root = speaker('root', [calling('order'), 'It is there.'], {tools: [order]});
  const desk = new Desk(root);
  await desk.run(go);
  const events = (await desk.events()).slice(0, 2);
  const session = await desk.service.createSession({appName: 'app', userId: 'u', sessionId: 'crashed'});
  for (const event of events) await desk.service.appendEvent({session, event});
  const id = events[1]?.content?.parts?.[0]?.functionCall?.id ?? '';
  const newMessage = {role: 'user', parts: [{functionResponse: {id, name: 'order', response: {there: true}}}]};
  const {outcome} = await collect(desk.runner.runAsync({userId: 'u', sessionId: 'crashed', newMessage}));
  expect(outcome.kind).toBe('done');
  expect(root.model.requests.at(-1)?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({there: true});
});

test('a call whose question could not be stored is cancelled', async () => {
  const {tool, paid} = payTool();
  let isDown = true;
  const audit: Partial<BasePlugin> = {
    name: 'audit',
    onEventCallback: async ({event}) => {
      if (isDown && event.content?.parts?.[0]?.functionCall?.name === 'adk_request_confirmation') throw new Error('down');
      return undefined;
    },
  };
  const desk = new Desk(speaker('root', [calling('pay'), 'Sorry.'], {tools: [tool]}), [audit]);
  expect((await desk.run(go)).error).toMatchObject({name: 'HookError'});
  expect((await desk.events()).map(line).at(-1)).toBe('root: pay={"error":"cancelled","started":false}');
  isDown = false;
  expect(await desk.run({text: 'and?'})).toMatchObject({said: ['root: "Sorry."'], kind: 'done'});
  expect(paid).toEqual([]);
});

test('a branch whose agent is not run again after the answer waits no more', async () => {
  const {tool} = payTool();
  let isBusy = false;
  const busy = (): {parts: Part[]} | undefined => (isBusy ? {parts: [{text: 'Busy.'}]} : undefined);
  const a = speaker('a', [calling('pay')], {tools: [tool], beforeAgentCallback: busy});
  const desk = new Desk(new ParallelAgent({name: 'par', subAgents: [a]}));
  await desk.run(go);
  isBusy = true;
  expect(await desk.run(...(await desk.answers()))).toMatchObject({said: ['a: "Busy."'], kind: 'done'});
  expect((await desk.events()).map(line).at(-1)).toBe('a: pay={"error":"cancelled","started":false}');
});

test('a run in which an answered call asks on waits, whatever else its message answers', async () => {
  const asks = new FunctionTool({
    name: 'asks',
    description: 'Asks on.',
    requireConfirmation: true,
    execute: (_args, context) => context.requestCredential({scheme: 'key'}),
  });
  const {tool, paid} = payTool();
  const root = speaker('root', [calling('asks'), calling('pay'), 'Done.'], {tools: [asks, tool]});
  const desk = new Desk(root);
  await desk.run(go);
  await desk.run({text: 'and pay'});
  expect(await desk.run(...(await desk.answers()))).toMatchObject({kind: 'waiting', waits: 1});
  expect([paid, root.model.calls]).toEqual([['root'], 2]);
  expect(await desk.answers()).toHaveLength(1);
});

test.each([
  ['a long-running tool', new LongRunningFunctionTool({name: 'job', description: 'Starts.', execute: () => null}), calling('job')],
  ['a question', requestInputTool, functionCalls({name: 'adk_request_input', args: {message: 'x'}})],
])('what a hook answers in the place of %s is final', async (_, tool, call) => {
  const root = speaker('root', [call, 'Done.'], {tools: [tool], beforeToolCallback: () => ({error: 'by policy'})});
  const desk = new Desk(root);
  expect(await desk.run(go)).toMatchObject({kind: 'done', waits: 0});
  expect(await desk.answers()).toEqual([]);
});

test('a late answer leaves the conversation with who was handed it', async () => {
  const {tool, paid} = payTool();
  const sub = speaker('sub', ['Hello.', 'Still here.']);
  const hand = functionCalls({name: 'transfer_to_agent', args: {agentName: 'sub'}});
  const root = speaker('root', [calling('pay'), hand, 'Paid.'], {tools: [tool], subAgents: [sub]});
  const desk = new Desk(root);
  await desk.run(go);
  await desk.run({text: 'I want to talk to sub'});
  expect((await desk.run(...(await desk.answers()))).said.at(-1)).toBe('root: "Paid."');
  expect((await desk.run({text: 'hi'})).said).toEqual(['sub: "Still here."']);
  expect(paid).toEqual(['root']);
});
