// Calls whose connection was lost: the server of the next one does not know them, and does not wait for them.
import {expect, test} from 'vitest';
import {LongRunningFunctionTool} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {answers, expectValidLive, heldTool, liveStage, turn, whole, wire} from './kit.ts';

const texts = (session: LiveServerSession): unknown[] =>
  wire(session).flatMap(({clientContent: it}) => (it ? [JSON.stringify(it).includes('"turnComplete":true')] : []));

test('a call whose connection was lost holds up nothing that the user says', async () => {
  const slow = heldTool('slow');
  await using it = await liveStage({agent: {tools: [slow.tool]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'slow'}]);
  const call = await slow.call();
  session.drop();
  const second = await it.server.nextSession();
  await second.message('clientContent');
  await it.say('hello?');
  await second.message('clientContent', 1);
  second.say('Hi.');
  second.completeTurn();
  await reading.until('root: "Hi." [turn complete]');
  call.end('done');
  await second.message('clientContent', 2);
  await it.finish(second, reading);
  expect(wire(second).slice(1)).toEqual([turn('hello?'), turn('[root] got from `slow`: {"result":"done"}')]);
  // What was said before asks for nothing.
  expect(texts(second)).toEqual([false, true, true]);
  expect(second.refusal).toBeUndefined();
  expectValidLive(await it.stage.stored());
});

test('what a lost call comes to waits while the model waits for another call', async () => {
  const slow = heldTool('slow');
  const quick = heldTool('quick');
  await using it = await liveStage({agent: {tools: [slow.tool, quick.tool]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'slow'}]);
  const lost = await slow.call();
  session.drop();
  const second = await it.server.nextSession();
  await second.message('clientContent');
  second.toolCall([{id: '2', name: 'quick'}]);
  const open = await quick.call();
  lost.end('late');
  await reading.until('root: slow={"result":"late"}');
  open.end('soon');
  await second.message('clientContent', 1);
  await it.finish(second, reading);
  expect(wire(second).slice(1)).toEqual([
    answers({id: '2', name: 'quick', response: {result: 'soon'}}),
    turn('[root] got from `slow`: {"result":"late"}'),
  ]);
  expect(second.refusal).toBeUndefined();
});

test('an interruption on a new connection does not end a call of the old one', async () => {
  const slow = heldTool('slow');
  await using it = await liveStage({agent: {tools: [slow.tool]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'slow'}]);
  const call = await slow.call();
  session.drop();
  const second = await it.server.nextSession();
  await second.message('clientContent');
  second.say('Still ');
  second.interrupt();
  second.completeTurn();
  await reading.until('root: [turn complete]');
  expect(call.context.abortSignal.aborted).toBe(false);
  call.end('done');
  await second.message('clientContent', 1);
  await it.finish(second, reading);
  expect(wire(second).at(-1)).toEqual(turn('[root] got from `slow`: {"result":"done"}'));
});

test('a live run that leaves a long-running call open ends waiting, whatever the model says after it', async () => {
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({status: 'ordered'})});
  await using it = await liveStage({agent: {tools: [order]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'order'}]);
  await session.message('toolResponse');
  const {outcome} = await it.finish(session, reading);
  expect(outcome.kind).toBe('waiting');
});

test('a live run whose long-running call was answered is done', async () => {
  const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({status: 'ordered'})});
  await using it = await liveStage({agent: {tools: [order]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'order'}]);
  await session.message('toolResponse');
  await it.queue.sendContent({parts: [{functionResponse: {id: '1', name: 'order', response: {status: 'here'}}}]});
  await session.message('toolResponse', 1);
  const {outcome} = await it.finish(session, reading);
  expect(outcome.kind).toBe('done');
});

test('calls without a name each have an id of their own, and one answer', async () => {
  await using it = await liveStage({server: {strict: false}});
  const {session, reading} = await it.talk();
  session.send({toolCall: {functionCalls: [{}, {name: 'no_such_tool'}]}});
  await session.message('toolResponse');
  await it.finish(session, reading);
  const call = (await it.stage.stored()).find(({content}) => content?.parts?.some((part) => part.functionCall));
  const ids = call?.content?.parts?.map(({functionCall}) => functionCall?.id) ?? [];
  expect(new Set(ids).size).toBe(2);
  expect(whole(reading.lines)).toHaveLength(3);
  expectValidLive(await it.stage.stored());
});

test('a server that still waits for a call it knows is told what it missed only once that is answered', async () => {
  const slow = heldTool('slow');
  await using it = await liveStage({agent: {tools: [slow.tool]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: '1', name: 'slow'}]);
  const call = await slow.call();
  session.offerResumption('h1');
  session.say('Let me see.');
  await reading.until('root: "Let me see." [partial]');
  session.drop();
  const second = await it.server.nextSession();
  await second.message('setup');
  call.end('done');
  await second.message('clientContent');
  await it.finish(second, reading);
  expect(wire(second)).toEqual([
    answers({id: '1', name: 'slow', response: {result: 'done'}}),
    {clientContent: {turns: [{role: 'model', parts: [{text: 'Let me see.'}]}], turnComplete: false}},
  ]);
  expect(second.refusal).toBeUndefined();
  expectValidLive(await it.stage.stored());
});
