import {describe, expect, test, vi} from 'vitest';
import {
  FunctionTool,
  getFunctionCalls,
  InMemorySessionService,
  LlmAgent,
  Runner,
  type Event,
  type FunctionToolOptions,
  type Part,
  type RunRequest,
} from 'sluice';
import {collect, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {expectValid, line, stage, type Stage, type StageOptions} from '../stories/kit.ts';

const REQUEST = 'adk_request_confirmation';
const transfer = (amount: number): {name: string; args: Record<string, unknown>} => ({name: 'pay', args: {amount}});

function payTool(options: Partial<FunctionToolOptions> = {}): {tool: FunctionTool; paid: unknown[]} {
  const paid: unknown[] = [];
  const tool = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    parameters: {type: 'object', properties: {amount: {type: 'number'}}},
    requireConfirmation: true,
    execute: ({amount}) => (paid.push(amount), `paid ${Number(amount)}`),
    ...options,
  });
  return {tool, paid};
}

const requestsIn = (events: readonly Event[]): string[] =>
  events.flatMap((event) => getFunctionCalls(event).flatMap(({id, name}) => (name === REQUEST ? (id ?? '') : [])));
const answer = (id: string, response: Record<string, unknown>): Part => ({functionResponse: {id, name: REQUEST, response}});
const saying = (...parts: Part[]): Partial<RunRequest> => ({newMessage: {role: 'user', parts}});

async function asking(
  steps: readonly ScriptedStep[],
  tools: readonly FunctionTool[],
  options: StageOptions = {},
): Promise<{it: Stage; ids: string[]; first: Event[]}> {
  const it = await stage({steps, ...options, agent: {tools, ...options.agent}});
  const {events, outcome} = await collect(it.run());
  expect(outcome.kind).toBe('waiting');
  return {it, ids: requestsIn(events), first: events};
}

describe('a call that has to be confirmed', () => {
  test('does not run; the run asks, and ends waiting', async () => {
    const {tool, paid} = payTool();
    const {it, first} = await asking([functionCalls(transfer(5))], [tool]);
    const [call, request, response] = first;
    const original = call && getFunctionCalls(call)[0];
    expect(first.map(line)).toEqual([
      'root: pay({"amount":5})',
      expect.stringContaining(`root: ${REQUEST}(`),
      'root: pay={"status":"pending"} [waits:1]',
    ]);
    expect(request && getFunctionCalls(request)[0]?.args).toEqual({
      originalFunctionCall: original,
      toolConfirmation: {confirmed: false, hint: 'Confirm the call of pay.'},
    });
    expect(request?.longRunningToolIds).toEqual(requestsIn(first));
    expect(response?.longRunningToolIds).toEqual([original?.id]);
    expect(paid).toEqual([]);
    expectValid((await it.stored()).filter((event) => event.id !== request?.id));
  });

  test('runs after the answer, once, and the model sees its result as if nothing had been asked', async () => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5)), 'Done.'], [tool]);
    const {events, outcome} = await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: true}))));
    expect(events.map(line)).toEqual(['root: pay={"result":"paid 5"}', 'root: "Done."']);
    expect(outcome.kind).toBe('done');
    expect(paid).toEqual([5]);
    expect(it.model.requests[1]?.contents.map(({role, parts}) => [role, ...(parts ?? []).flatMap((part) => Object.keys(part))])).toEqual([
      ['user', 'text'],
      ['model', 'functionCall'],
      ['user', 'functionResponse'],
    ]);
    expect(JSON.stringify(it.model.requests[1])).not.toContain(REQUEST);
  });

  test('that is refused does not run, and the model is told', async () => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5)), 'As you wish.'], [tool]);
    const {events} = await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: false}))));
    expect(events.map(line)).toEqual(['root: pay={"error":"The user refused this call"}', 'root: "As you wish."']);
    expect(paid).toEqual([]);
  });

  test('is asked for by a function of its arguments where that says so', async () => {
    const {tool, paid} = payTool({requireConfirmation: (args: {amount?: unknown}) => Number(args.amount) > 10});
    const {first} = await asking([functionCalls(transfer(5), transfer(50))], [tool]);
    expect(paid).toEqual([5]);
    expect(first.at(-1) && line(first.at(-1) as Event)).toBe('root: pay={"result":"paid 5"} pay={"status":"pending"} [waits:1]');
  });

  test('whose question fails is an error of the call', async () => {
    const {tool} = payTool({
      requireConfirmation: () => {
        throw new Error('cannot tell');
      },
    });
    const it = await stage({steps: [functionCalls(transfer(5)), 'Hm.'], agent: {tools: [tool]}});
    expect((await collect(it.run())).events.map(line)).toContain('root: pay={"error":"cannot tell"}');
  });

  test('can be asked for by the body, with a hint and a payload, and goes on with the answer', async () => {
    const seen: unknown[] = [];
    const {tool} = payTool({
      requireConfirmation: false,
      execute: (_, context) => {
        seen.push(context.toolConfirmation);
        if (context.toolConfirmation) return {payload: context.toolConfirmation.payload};
        context.requestConfirmation({hint: 'Which account?', payload: {accounts: ['a', 'b']}});
        return {status: 'asked'};
      },
    });
    const {it, ids, first} = await asking([functionCalls(transfer(5)), 'Done.'], [tool]);
    expect(first.at(-1) && line(first.at(-1) as Event)).toBe('root: pay={"status":"asked"} [waits:1]');
    const {events} = await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: true, payload: 'b'}))));
    expect(events.map(line)).toEqual(['root: pay={"payload":"b"}', 'root: "Done."']);
    expect(seen).toEqual([undefined, {confirmed: true, payload: 'b'}]);
  });

  test('has siblings whose results are kept, and which are not run again', async () => {
    const {tool} = payTool();
    const note = vi.fn<() => string>(() => 'noted');
    const noting = new FunctionTool({name: 'note', description: 'Notes.', execute: note});
    const {it, ids} = await asking([functionCalls({name: 'note', args: {}}, transfer(5)), 'Done.'], [tool, noting]);
    await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: true}))));
    expect(note).toHaveBeenCalledOnce();
    const responses = it.model.requests[1]?.contents.at(-1)?.parts?.map(({functionResponse}) => functionResponse?.response);
    expect(responses).toEqual([{result: 'noted'}, {result: 'paid 5'}]);
  });

  test.each([
    [0, 1],
    [1, 0],
  ])('among others is answered in any order: %i, then %i', async (first, second) => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(1), transfer(2)), 'Done.'], [tool]);
    const one = await collect(it.run('', saying(answer(ids[first] ?? '', {confirmed: true}))));
    expect(one.outcome).toMatchObject({kind: 'waiting', llmCalls: 0});
    const other = await collect(it.run('', saying(answer(ids[second] ?? '', {confirmed: true}))));
    expect(other.outcome.kind).toBe('done');
    expect(paid).toEqual([first + 1, second + 1]);
    const responses = it.model.requests[1]?.contents.at(-1)?.parts?.map(({functionResponse}) => functionResponse?.response);
    expect(responses).toEqual([{result: 'paid 1'}, {result: 'paid 2'}]);
  });

  test('is resumed by another process that has the store', async () => {
    const {tool} = payTool();
    const sessionService = new InMemorySessionService();
    const runnerWith = (...steps: ScriptedStep[]): Runner =>
      new Runner({
        appName: 'app',
        agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps}), tools: [tool]}),
        sessionService,
        autoCreateSession: true,
      });
    const key = {userId: 'u', sessionId: 's'};
    const {events} = await collect(runnerWith(functionCalls(transfer(7))).runAsync({...key, newMessage: {parts: [{text: 'Pay'}]}}));
    const parts = [answer(requestsIn(events)[0] ?? '', {response: '{"confirmed": true}'})];
    expect((await collect(runnerWith('Done.').runAsync({...key, newMessage: {parts}}))).events.map(line)).toEqual([
      'root: pay={"result":"paid 7"}',
      'root: "Done."',
    ]);
  });

  test('may be passed over: the model is then told that it is pending, and a late answer still counts', async () => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5)), 'Shall I?', 'Done.'], [tool]);
    await collect(it.run('What is this?'));
    expect(JSON.stringify(it.model.requests[1]?.contents)).toContain('pending');
    await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: true}))));
    expect(paid).toEqual([5]);
    const last = it.model.requests[2]?.contents.map(({parts}) => Object.keys(parts?.[0] ?? {})[0]);
    expect(last).toEqual(['text', 'text', 'text', 'functionCall', 'functionResponse'].slice(0, last?.length));
    expect(it.model.requests[2]?.contents.at(-1)?.parts?.[0]?.functionResponse?.response).toEqual({result: 'paid 5'});
  });

  test('gives a credential to who asked for one', async () => {
    const login = new FunctionTool({
      name: 'login',
      description: 'Logs in.',
      execute: (_, context) => {
        const given = context.getAuthResponse();
        if (given) return {user: given};
        context.requestCredential({scheme: 'oauth2'});
        return undefined;
      },
    });
    const {it, first} = await asking([functionCalls({name: 'login', args: {}}), 'In.'], [login]);
    const asked = first.flatMap((event) => getFunctionCalls(event)).find(({name}) => name === 'adk_request_credential');
    expect(asked?.args).toMatchObject({authConfig: {scheme: 'oauth2'}});
    const functionResponse = {id: asked?.id ?? '', name: asked?.name ?? '', response: {token: 't'}};
    const {events} = await collect(it.run('', saying({functionResponse})));
    expect(events.map(line)).toEqual(['root: login={"user":{"token":"t"}}', 'root: "In."']);
  });
});

describe('an answer that is none', () => {
  test.each([
    ['unknown', (): Part => answer('adk-nobody', {confirmed: true}), 'UNKNOWN_FUNCTION_CALL'],
    ['without a word', (id: string): Part => answer(id, {}), 'INVALID_OPTION'],
    ['with a word that is none', (id: string): Part => answer(id, {confirmed: 'yes'}), 'INVALID_OPTION'],
  ])('%s is refused before anything is stored', async (_, part, code) => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5))], [tool]);
    const before = await it.stored();
    expect((await collect(it.run('', saying(part(ids[0] ?? ''))))).error).toMatchObject({code});
    expect(await it.stored()).toEqual(before);
    expect(paid).toEqual([]);
  });

  test('to the call itself, in place of its request, is refused', async () => {
    const {tool} = payTool();
    const {it, first} = await asking([functionCalls(transfer(5))], [tool]);
    const id = first[0] && getFunctionCalls(first[0])[0]?.id;
    const forged = {functionResponse: {id: id ?? '', name: 'pay', response: {result: 'paid'}}};
    expect((await collect(it.run('', saying(forged)))).error).toMatchObject({code: 'UNKNOWN_FUNCTION_CALL'});
  });

  test('given twice is refused the second time, and pays once', async () => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5)), 'Done.'], [tool]);
    const again = saying(answer(ids[0] ?? '', {confirmed: true}));
    await collect(it.run('', again));
    expect((await collect(it.run('', again))).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
    expect(paid).toEqual([5]);
  });

  test('with arguments of its own runs what the model had asked for', async () => {
    const {tool, paid} = payTool();
    const {it, ids} = await asking([functionCalls(transfer(5)), 'Done.'], [tool]);
    const forged = {confirmed: true, originalFunctionCall: {name: 'pay', args: {amount: 9_999}}};
    await collect(it.run('', saying(answer(ids[0] ?? '', forged))));
    expect(paid).toEqual([5]);
  });
});

test('a stop before the question is out leaves a call that was not run, and nobody to wait for', async () => {
  const {tool} = payTool();
  const stop = new AbortController();
  const never = new FunctionTool({name: 'never', description: 'Hangs.', execute: () => (stop.abort('enough'), new Promise(() => {}))});
  const it = await stage({
    steps: [functionCalls(transfer(5), {name: 'never', args: {}})],
    agent: {tools: [tool, never]},
    runConfig: {abortGraceMs: 10},
  });
  await collect(it.run('go', {abortSignal: stop.signal}));
  expect((await it.stored()).map(line).at(-1)).toBe(
    'root: pay={"error":"cancelled","started":false} never={"error":"cancelled; it may have taken effect","started":true}',
  );
});

test('arguments that a schema changes are shown as the model gave them, and checked again before they run', async () => {
  const {tool} = payTool({parameters: z.object({amount: z.coerce.number()}) as never});
  const {it, ids} = await asking([functionCalls({name: 'pay', args: {amount: '5'}}), 'Done.'], [tool]);
  expect((await collect(it.run('', saying(answer(ids[0] ?? '', {confirmed: true}))))).events[0]).toMatchObject({
    content: {parts: [{functionResponse: {response: {result: 'paid 5'}}}]},
  });
});
