// What people reported about credentials that tools ask for. Each run has a process of its own.
import {describe, expect, test} from 'vitest';
import {FunctionTool} from 'sluice';
import {functionCalls, type ScriptedStep} from 'sluice/testing';
import {answer, Desk, lastResponses, scripted} from './desk.ts';

describe('credentials', () => {
  const login = new FunctionTool({
    name: 'login',
    description: 'Logs in.',
    parameters: {type: 'object', properties: {to: {type: 'string'}}},
    execute: ({to}, context) => {
      const given = context.getAuthResponse();
      if (given) return {[String(to)]: given};
      context.requestCredential({scheme: to});
      return undefined;
    },
  });
  const calls = functionCalls({name: 'login', args: {to: 'mail'}}, {name: 'login', args: {to: 'bank'}});
  const root = (...steps: ScriptedStep[]) => scripted('root', steps, {tools: [login]});

  // google/adk-js#775
  test('go to the call that asked for them, once', async () => {
    const desk = new Desk();
    await desk.run(root(calls), 'go');
    const [mail, bank] = desk.pending;
    expect(desk.pending.map(({authConfig}) => authConfig)).toEqual([{scheme: 'mail'}, {scheme: 'bank'}]);
    await desk.run(root(), [answer(bank, {token: 'B'})]);
    expect((await desk.run(root(), [answer(bank, {token: 'C'})])).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
    const agent = root('In.');
    expect((await desk.run(agent, [answer(mail, {token: 'M'})])).outcome.kind).toBe('done');
    expect(lastResponses(agent.model)).toEqual([{mail: {token: 'M'}}, {bank: {token: 'B'}}]);
  });

  // google/adk-js#775
  test('that answer no request, or another kind of one, are refused', async () => {
    const desk = new Desk();
    await desk.run(root(calls), 'go');
    const before = desk.saved;
    const [mail] = desk.pending;
    for (const [id, name, code] of [
      ['nobody', 'adk_request_credential', 'UNKNOWN_FUNCTION_CALL'],
      [mail?.interruptId, 'adk_request_confirmation', 'FUNCTION_NAME_MISMATCH'],
    ] as const) {
      const {error} = await desk.run(root(), [{functionResponse: {id: id ?? '', name, response: {token: 'X', confirmed: true}}}]);
      expect(error).toMatchObject({code});
    }
    expect(desk.saved).toBe(before);
  });
});
