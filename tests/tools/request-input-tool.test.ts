import {describe, expect, test} from 'vitest';
import {
  createEvent,
  FunctionTool,
  getPendingUserInputRequests,
  getUserInputRequests,
  InvalidOptionError,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  requestInputTool,
  requiresUserInput,
  type Event,
} from 'sluice';
import {collect, functionCalls, type ScriptedStep} from 'sluice/testing';
import {expectValid, line, stage, type Stage} from '../stories/kit.ts';

const name = REQUEST_INPUT_FUNCTION_CALL_NAME;
const days = {type: 'object', properties: {days: {type: 'integer'}}, required: ['days']};
const question = (args: Record<string, unknown>): ScriptedStep => functionCalls({name, args});

const answer = (it: Stage, id: string, response: Record<string, unknown>, as = name): ReturnType<Stage['run']> =>
  it.run('', {newMessage: {role: 'user', parts: [{functionResponse: {id, name: as, response}}]}});

async function pending(it: Stage): Promise<ReturnType<typeof getPendingUserInputRequests>> {
  return getPendingUserInputRequests(await it.stored());
}

async function asking(...steps: readonly ScriptedStep[]): Promise<Stage> {
  const it = await stage({steps, agent: {tools: [requestInputTool]}});
  const run = it.run('Book a room');
  await collect(run);
  expect((await run.settled).kind).toBe('waiting');
  return it;
}

describe('requestInputTool', () => {
  test('lets the model ask, ends the run, and the answer reaches the model', async () => {
    const it = await asking(question({message: 'How long?', response_schema: days}), 'Two days then.');
    const [request] = await pending(it);
    expect(await pending(it)).toEqual([
      {kind: 'input', interruptId: expect.any(String), functionCallName: name, author: 'root', message: 'How long?', responseSchema: days},
    ]);
    const {events} = await collect(answer(it, request?.interruptId ?? '', {days: 2}));
    expect(events.map(line)).toEqual(['root: "Two days then."']);
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.functionResponse).toMatchObject({name, response: {days: 2}});
    expect(await pending(it)).toEqual([]);
  });

  test('an answer that does not fit the schema is refused before anything is stored, and one that fits is taken', async () => {
    const it = await asking(question({message: 'How long?', response_schema: days}), 'Good.');
    const id = (await pending(it))[0]?.interruptId ?? '';
    const before = await it.stored();
    for (const response of [{}, {days: 'two'}, {result: {days: 1.5}}]) {
      const {error} = await collect(answer(it, id, response));
      expect(error).toBeInstanceOf(InvalidOptionError);
      expect(String(error)).toMatch(/response_schema.*days/);
    }
    expect(await it.stored()).toEqual(before);
    expect((await collect(answer(it, id, {result: {days: 2}}))).events.map(line)).toEqual(['root: "Good."']);
    expectValid((await it.stored()).filter(({content}) => content?.parts?.some((part) => part.text)));
    expect((await collect(answer(it, id, {days: 2}))).error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
  });

  test.each([
    ['a word in `result`', {type: 'string'}, {result: 'tea'}],
    ['a list in `result`', {type: 'array', items: {type: 'string'}}, {result: ['tea', 'milk']}],
    ['anything where there is no schema', undefined, {whatever: true}],
    ['anything where the schema is none', {allOf: [{$ref: '#'}]}, {whatever: true}],
    ['anything where a type in it is none', {type: 'object', properties: {on: {type: 'date'}}}, {on: 'Monday'}],
    [
      'what fits a schema that allows nothing else',
      {type: 'object', properties: {n: {type: 'integer'}}, additionalProperties: false},
      {n: 1},
    ],
    ['anything where the schema refers to nothing', {$ref: '#/nowhere'}, {whatever: true}],
  ])('takes %s', async (_, response_schema, response) => {
    const it = await asking(question({message: 'What?', ...(response_schema && {response_schema})}), 'Good.');
    const id = (await pending(it))[0]?.interruptId ?? '';
    expect((await collect(answer(it, id, response))).events.map(line)).toEqual(['root: "Good."']);
  });

  test('without a message is answered with what is missing, and the model is asked again', async () => {
    const it = await stage({steps: [question({}), 'Sorry.'], agent: {tools: [requestInputTool]}});
    const {events} = await collect(it.run());
    expect(events.map(line)).toEqual([
      `root: ${name}({}) [waits:1]`,
      expect.stringMatching(/Invalid arguments.*message/),
      'root: "Sorry."',
    ]);
    expect(await pending(it)).toEqual([]);
  });
});

describe('what a session waits for', () => {
  test('is told in one form for input, confirmation and credentials, until each is answered', async () => {
    const wipe = new FunctionTool({
      name: 'wipe',
      description: 'Wipes.',
      requireConfirmation: true,
      execute: () => 'wiped',
    });
    const login = new FunctionTool({
      name: 'login',
      description: 'Logs in.',
      execute: (_args, context) => {
        const credential = context.getAuthResponse();
        if (credential !== undefined) return 'in';
        context.requestCredential({scheme: 'key'});
        return undefined;
      },
    });
    const steps = [functionCalls({name: 'wipe'}, {name: 'login'}, {name, args: {message: 'Sure?'}}), 'Done.'];
    const it = await stage({steps, agent: {tools: [wipe, login, requestInputTool]}});
    await collect(it.run());
    const requests = await pending(it);
    expect(requests.map(({kind, toolName, message, authConfig}) => ({kind, toolName, message, authConfig}))).toEqual([
      {kind: 'input', message: 'Sure?'},
      {kind: 'confirmation', toolName: 'wipe', message: expect.any(String)},
      {kind: 'credential', authConfig: {scheme: 'key'}},
    ]);
    const answers = {input: {result: 'yes'}, confirmation: {confirmed: true}, credential: {key: 'k'}};
    for (const {kind, interruptId, functionCallName} of requests) await collect(answer(it, interruptId, answers[kind], functionCallName));
    expect(await pending(it)).toEqual([]);
    expect((await it.stored()).map(line).at(-1)).toBe('root: "Done."');
  });

  test('is nothing for other calls, partial Events, calls without an id, and runs that were taken back', async () => {
    const content = (call: object): Partial<Event> => ({content: {role: 'model', parts: [{functionCall: call}]}});
    expect(getUserInputRequests(createEvent({...content({name, id: '1', args: {message: 'x'}}), partial: true}))).toEqual([]);
    expect(getUserInputRequests(createEvent(content({name, args: {message: 'x'}})))).toEqual([]);
    expect(requiresUserInput(createEvent(content({name: 'other', id: '1'})))).toBe(false);
    expect(requiresUserInput(createEvent(content({name, id: '1'})))).toBe(true);
    const it = await asking(question({message: 'How long?'}), 'Good.');
    const [first] = await it.stored();
    await it.runner.rewind({userId: 'u', sessionId: 's', rewindBeforeInvocationId: first?.invocationId ?? ''});
    expect(await pending(it)).toEqual([]);
  });
});
