import {expect, test} from 'vitest';
import {createEvent, FunctionTool, LongRunningFunctionTool, ParallelAgent} from 'sluice';
import {functionCalls, type ScriptedStep} from 'sluice/testing';
import {answer, Desk, scripted} from './desk.ts';

const call = (amount: number): ScriptedStep => functionCalls({id: 'call_0', name: 'pay', args: {amount}});

// langchain-ai/langgraph#6626: the same id twice. Models count their calls anew in each reply, and two branches ask at the same time.
test('calls of two branches whose models give them the same id are both asked for, and each decision hits its own', async () => {
  const paid: unknown[] = [];
  const parameters = {type: 'object', properties: {amount: {type: 'number'}}};
  const pay = new FunctionTool({
    name: 'pay',
    description: 'Pays.',
    parameters,
    requireConfirmation: true,
    execute: ({amount}) => paid.push(amount),
  });
  const tree = (a: ScriptedStep[], b: ScriptedStep[]): ParallelAgent =>
    new ParallelAgent({name: 'all', subAgents: [scripted('a', a, {tools: [pay]}), scripted('b', b, {tools: [pay]})]});
  const desk = new Desk();
  await desk.run(tree([call(1)], [call(2)]), 'go');
  expect(desk.pending.map(({author}) => author)).toEqual(['a', 'b']);
  const [a, b] = desk.pending;
  const {outcome} = await desk.run(tree(['A.'], ['B.']), [answer(a, {confirmed: false}), answer(b, {confirmed: true})]);
  expect([paid, outcome.kind, desk.pending]).toEqual([[2], 'done', []]);
});

test('the same for long-running calls', async () => {
  const ask = new LongRunningFunctionTool({name: 'pay', description: 'Pays later.', execute: () => undefined});
  const tree = (a: ScriptedStep[], b: ScriptedStep[]): ParallelAgent =>
    new ParallelAgent({name: 'all', subAgents: [scripted('a', a, {tools: [ask]}), scripted('b', b, {tools: [ask]})]});
  const desk = new Desk();
  const {events} = await desk.run(tree([call(1)], [call(2)]), 'go');
  const ids = events.at(-1)?.longRunningToolIds ?? [];
  expect(new Set(ids).size).toBe(2);
  for (const id of ids) await desk.run(tree(['A.'], ['B.']), [{functionResponse: {id, name: 'pay', response: {ok: true}}}]);
  expect((await desk.run(tree(['A.'], ['B.']), 'and?')).outcome.kind).toBe('done');
});

// google/adk-js#755 (its review; adk-java guards it): somebody else's event with the id of a call that waits takes the approval away.
test('a response that another author has written for a call that waits does not answer it', async () => {
  const paid: unknown[] = [];
  const pay = new FunctionTool({name: 'pay', description: 'Pays.', requireConfirmation: true, execute: () => paid.push(1)});
  const desk = new Desk();
  await desk.run(scripted('root', [call(5)], {tools: [pay]}), 'go');
  const [request] = desk.pending;
  const content = {role: 'user', parts: [{functionResponse: {id: 'call_0', name: 'pay', response: {result: 'paid'}}}]};
  desk.saved = JSON.stringify([...desk.events, createEvent({author: 'peer', invocationId: 'x', content})]);
  const {error} = await desk.run(scripted('root', ['Paid.'], {tools: [pay]}), [answer(request, {confirmed: true})]);
  expect([error, paid]).toEqual([undefined, [1]]);
});
