import {getEventListeners} from 'node:events';
import {describe, expect, test} from 'vitest';
import {InvalidOptionError} from '../../lib/errors.ts';
import type {LlmRequest} from '../../lib/models/llm-request.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';
import {deaf, deltas, functionCalls, hang, ScriptedLlm, ScriptError, text, type ScriptedStep} from '../../lib/testing/index.ts';

const ask = (said: string): LlmRequest => ({contents: [{role: 'user', parts: [{text: said}]}], config: {}});

async function read(source: AsyncIterable<LlmResponse>): Promise<LlmResponse[]> {
  const responses: LlmResponse[] = [];
  for await (const response of source) responses.push(response);
  return responses;
}

describe('ScriptedLlm plays', () => {
  const boom = new Error('boom');
  const cases: [string, ScriptedStep, LlmResponse[]][] = [
    ['a string as a text reply', 'Hi', [{content: {role: 'model', parts: [{text: 'Hi'}]}, finishReason: 'STOP'}]],
    ['a response as it is', {errorCode: 'SAFETY'}, [{errorCode: 'SAFETY'}]],
    ['an array in order', [{...text('a'), partial: true}, text('ab')], [{...text('a'), partial: true}, text('ab')]],
    [
      'deltas as pieces and a whole',
      deltas('a', 'b'),
      [
        {content: {role: 'model', parts: [{text: 'a'}]}, partial: true},
        {content: {role: 'model', parts: [{text: 'b'}]}, partial: true},
        text('ab'),
      ],
    ],
    [
      'function calls in one content',
      functionCalls({name: 'f', args: {x: 1}}, {name: 'g', args: {}, id: 'c1'}),
      [
        {
          content: {role: 'model', parts: [{functionCall: {name: 'f', args: {x: 1}}}, {functionCall: {name: 'g', args: {}, id: 'c1'}}]},
          finishReason: 'STOP',
        },
      ],
    ],
    ['what a function returns', (request, {index, stream}) => `${request.contents.length} ${index} ${stream}`, [text('1 0 true')]],
    ['what a promise brings', Promise.resolve('later'), [text('later')]],
    ['what a function of a promise of a function brings', async () => () => 'deep', [text('deep')]],
    [
      'an async iterable',
      (async function* () {
        yield text('from afar');
      })(),
      [text('from afar')],
    ],
    [
      'an async generator function',
      async function* () {
        yield* deltas('x');
      },
      deltas('x'),
    ],
    ['a deaf step', deaf('still here'), [text('still here')]],
  ];
  test.each(cases)('%s', async (_, step, expected) => {
    expect(await read(new ScriptedLlm({steps: [step]}).generateContentAsync(ask('?'), true))).toEqual(expected);
  });

  test('an Error by throwing the very object', async () => {
    await expect(read(new ScriptedLlm({steps: [boom]}).generateContentAsync(ask('?')))).rejects.toBe(boom);
    await expect(
      read(
        new ScriptedLlm({
          steps: [
            () => {
              throw boom;
            },
          ],
        }).generateContentAsync(ask('?')),
      ),
    ).rejects.toBe(boom);
  });

  test('no partial response when the caller does not stream', async () => {
    const steps: ScriptedStep[] = [
      deltas('a', 'b'),
      async function* () {
        yield* deltas('a', 'b');
      },
    ];
    const model = new ScriptedLlm({steps});
    expect(await read(model.generateContentAsync(ask('?')))).toEqual([text('ab')]);
    expect(await read(model.generateContentAsync(ask('?'), false))).toEqual([text('ab')]);
  });

  test('a step when the test opens its gate, and not before', async () => {
    let open = (_step: ScriptedStep): void => {};
    const model = new ScriptedLlm({steps: [new Promise<ScriptedStep>((resolve) => (open = resolve))]});
    let answered = false;
    const answer = read(model.generateContentAsync(ask('?'))).finally(() => (answered = true));
    await new Promise(setImmediate);
    expect(answered).toBe(false);
    open('now');
    expect(await answer).toEqual([text('now')]);
  });
});

describe('ScriptedLlm records', () => {
  test('requests as they were, whatever happens to them later', async () => {
    const model = new ScriptedLlm({model: 'm', steps: ['1', '2']});
    const request = ask('first');
    const {signal} = new AbortController();
    await read(model.generateContentAsync(request, true, signal));
    request.contents.push({role: 'model', parts: [{text: '1'}]});
    await read(model.generateContentAsync(request));
    expect(model.requests).toEqual([ask('first'), request]);
    expect(model.signals).toEqual([signal, undefined]);
    expect([model.model, model.calls]).toEqual(['m', 2]);
  });

  test('nothing before the first next()', () => {
    const model = new ScriptedLlm({steps: ['1']});
    model.generateContentAsync(ask('?'));
    expect([model.calls, model.requests]).toEqual([0, []]);
  });

  test('and hands out copies, so that a step can stand in a script twice', async () => {
    const step = text('same');
    const model = new ScriptedLlm({steps: [step, step]});
    const [first] = await read(model.generateContentAsync(ask('?')));
    first?.content?.parts?.push({text: 'changed'});
    expect(await read(model.generateContentAsync(ask('?')))).toEqual([text('same')]);
  });

  test('nothing and copies nothing with `record: false`, but counts', async () => {
    const step = text('same');
    const model = new ScriptedLlm({steps: [step], record: false});
    const [response] = await read(model.generateContentAsync(ask('?')));
    expect(response).toBe(step);
    expect([model.requests, model.signals, model.calls]).toEqual([[], [], 1]);
  });
});

describe('ScriptedLlm keeps to its script', () => {
  test('assertComplete names what was not used', async () => {
    const model = new ScriptedLlm({
      steps: ['one', 'two', functionCalls({name: 'f'}), new Error('x'), hang(), deaf(), deltas('a', 'b'), {}],
    });
    expect(() => new ScriptedLlm().assertComplete()).not.toThrow();
    await read(model.generateContentAsync(ask('?')));
    expect(model.unusedSteps).toHaveLength(7);
    expect(() => model.assertComplete()).toThrow(
      new ScriptError(
        'SCRIPT_UNUSED',
        'ScriptedLlm `scripted` used 1 of 8 steps; unused: #2 "two", #3 f(), #4 error "x", #5 function hang, #6 deaf, #7 "ab", ' +
          '#8 reply without content',
      ),
    );
  });

  test('a call beyond the script is an error, and is counted all the same', async () => {
    const model = new ScriptedLlm({steps: ['only']});
    await read(model.generateContentAsync(ask('1')));
    const late = read(model.generateContentAsync(ask('2')));
    await expect(late).rejects.toThrow('ScriptedLlm `scripted` got call 2, but its script has 1 step(s)');
    await expect(late).rejects.toMatchObject({name: 'ScriptError', code: 'SCRIPT_EXHAUSTED'});
    expect([model.calls, model.requests.length]).toEqual([2, 2]);
    model.enqueue('more');
    expect(await read(model.generateContentAsync(ask('3')))).toEqual([text('more')]);
    model.assertComplete();
  });

  test('steps that are no array are refused', () => {
    expect(() => new ScriptedLlm({steps: 'Hi' as unknown as []})).toThrow(InvalidOptionError);
  });
});

describe('ScriptedLlm on an abort', () => {
  const reason = {why: 'enough'};

  test('that came before throws the reason; the call counts as one', async () => {
    const model = new ScriptedLlm({steps: ['Hi']});
    await expect(read(model.generateContentAsync(ask('?'), true, AbortSignal.abort(reason)))).rejects.toBe(reason);
    expect(model.calls).toBe(1);
  });

  const waiting: [string, ScriptedStep][] = [
    ['hangs', hang()],
    ['waits at a gate', new Promise<never>(() => {})],
    ['waits in a function', () => new Promise<never>(() => {})],
    [
      'waits for an async iterable',
      (async function* () {
        await new Promise<never>(() => {});
        yield text('never');
      })(),
    ],
  ];
  test.each(waiting)('while it %s throws the reason and leaves no listener', async (_, step) => {
    const stop = new AbortController();
    const next = new ScriptedLlm({steps: [step]}).generateContentAsync(ask('?'), true, stop.signal).next();
    await new Promise(setImmediate);
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort(reason);
    await expect(next).rejects.toBe(reason);
    expect(getEventListeners(stop.signal, 'abort')).toEqual([]);
  });

  test('between two responses throws before the next one', async () => {
    const stop = new AbortController();
    const responses = new ScriptedLlm({steps: [deltas('a', 'b')]}).generateContentAsync(ask('?'), true, stop.signal);
    await responses.next();
    stop.abort(reason);
    await expect(responses.next()).rejects.toBe(reason);
  });

  test('is not heard by a deaf step, which answers late', async () => {
    const stop = new AbortController();
    let open = (_step: ScriptedStep): void => {};
    const gate = new Promise<ScriptedStep>((resolve) => (open = resolve));
    const late = read(new ScriptedLlm({steps: [deaf(gate)]}).generateContentAsync(ask('?'), true, stop.signal));
    await new Promise(setImmediate);
    stop.abort(reason);
    open('too late');
    expect(await late).toEqual([text('too late')]);
  });

  test('leaves no listener after a call that ended well', async () => {
    const {signal} = new AbortController();
    await read(new ScriptedLlm({steps: [async () => 'x']}).generateContentAsync(ask('?'), true, signal));
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  test('a reader that returns early closes the iterable behind the step', async () => {
    let closed = false;
    const step = async function* (): AsyncGenerator<LlmResponse, void> {
      try {
        yield* deltas('a', 'b');
      } finally {
        closed = true;
      }
    };
    for await (const _ of new ScriptedLlm({steps: [step]}).generateContentAsync(ask('?'), true)) break;
    expect(closed).toBe(true);
  });
});
