import {describe, expect, test} from 'vitest';
import {FunctionTool, getPendingUserInputRequests, LlmAgent, Runner} from 'sluice';
import {collect, functionCalls, ScriptedLlm} from 'sluice/testing';
import {answers, bye, expectValidLive, liveStage, turn, whole, wire} from './kit.ts';

const REFUSED = {error: 'not run: it needs the word of the user of the app, and a live run cannot ask for it'};
const refused = `=${JSON.stringify(REFUSED)}`;

describe('a call that asks the user of the app', () => {
  test('to be confirmed is answered with an error, is not run, and waits for nothing; its siblings are run', async () => {
    const ran: string[] = [];
    const tool = (name: string, requireConfirmation: boolean | (() => boolean)): FunctionTool =>
      new FunctionTool({name, description: 'A tool.', requireConfirmation, execute: () => ran.push(name)});
    await using it = await liveStage({agent: {tools: [tool('pay', true), tool('look', false), tool('refund', () => true)]}});
    const {session, reading} = await it.talk();
    session.toolCall(['pay', 'look', 'refund'].map((name, at) => ({id: String(at), name})));
    await session.message('toolResponse');
    const {outcome} = await it.finish(session, reading);
    expect(ran).toEqual(['look']);
    expect(whole(reading.lines)).toEqual([
      'root: pay({}) look({}) refund({})',
      `root: pay${refused} look={"result":1} refund${refused}`,
      ...whole(bye),
    ]);
    expect(wire(session)).toEqual([
      turn('hi'),
      answers(
        {id: '0', name: 'pay', response: REFUSED},
        {id: '1', name: 'look', response: {result: 1}},
        {id: '2', name: 'refund', response: REFUSED},
      ),
    ]);
    expect(outcome.kind).toBe('done');
    const stored = await it.stage.stored();
    expect(stored.map(({actions}) => actions.requestedToolConfirmations)).toEqual(stored.map(() => ({})));
    expectValidLive(stored);
  });

  test('from within its body is answered with an error too, and what it wrote is kept', async () => {
    const asks = new FunctionTool({
      name: 'asks',
      description: 'Asks.',
      execute: (_args, context) => {
        context.state.set('asked', true);
        context.requestConfirmation({hint: 'Sure?'});
      },
    });
    const logsIn = new FunctionTool({
      name: 'logs_in',
      description: 'Needs a credential.',
      execute: (_args, context) => context.requestCredential({scheme: 'oauth2'}),
    });
    await using it = await liveStage({agent: {tools: [asks, logsIn]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'asks'},
      {id: '2', name: 'logs_in'},
    ]);
    await session.message('toolResponse');
    const {outcome} = await it.finish(session, reading);
    expect(whole(reading.lines)).toEqual(['root: asks({}) logs_in({})', `root: asks${refused} logs_in${refused}`, ...whole(bye)]);
    expect(await it.stage.state()).toEqual({asked: true});
    expect(outcome.kind).toBe('done');
    expectValidLive(await it.stage.stored());
  });
});

test('an answer to what a text run has asked is refused before it is stored, and a later text run takes it', async () => {
  const paid: unknown[] = [];
  const pay = new FunctionTool({name: 'pay', description: 'Pays.', requireConfirmation: true, execute: () => paid.push(1)});
  await using it = await liveStage({agent: {tools: [pay]}});
  const {sessionService} = it.stage.runner;
  const model = new ScriptedLlm({steps: [functionCalls({name: 'pay', args: {}}), 'Paid.']});
  const writing = new Runner({appName: 'app', agent: new LlmAgent({name: 'root', model, tools: [pay]}), sessionService});
  const key = {userId: 'u', sessionId: 's'};
  await collect(writing.runAsync({...key, newMessage: {role: 'user', parts: [{text: 'pay'}]}}));
  const before = await it.stage.stored();
  const [request] = getPendingUserInputRequests(before);
  const {interruptId: id = '', functionCallName: name = ''} = request ?? {};
  const answer = {role: 'user', parts: [{functionResponse: {id, name, response: {confirmed: true}}}]};
  void it.queue.sendContent(answer);
  const {error} = await collect(it.run());
  expect(error).toMatchObject({code: 'INVALID_OPTION', message: expect.stringContaining('runAsync')});
  expect(await it.stage.stored()).toEqual(before);
  await collect(writing.runAsync({...key, newMessage: answer}));
  expect(paid).toEqual([1]);
});
