import {describe, expect, test} from 'vitest';

import type {Part} from '../../lib/content.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';
import {ask, geminiAt, rejection, streamed, whole} from './asking.ts';
import {chunk, json, rawServer, stream, text} from './raw-server.ts';

/** The responses to a stream of these chunks. */
async function responsesTo(...chunks: readonly unknown[]): Promise<LlmResponse[]> {
  await using server = await rawServer(stream(...chunks));
  return await streamed(geminiAt(server, {attempts: 1}));
}

/** The parts of the whole response to a stream of chunks with these parts. */
async function joined(...chunks: readonly (readonly unknown[])[]): Promise<Part[] | undefined> {
  const last = chunks.length - 1;
  const responses = await responsesTo(...chunks.map((parts, index) => chunk(parts, index === last ? 'STOP' : undefined)));
  return responses.at(-1)?.content?.parts;
}

describe('a stream', () => {
  test('yields a partial for each chunk with content, then the whole', async () => {
    const usage = (candidatesTokenCount: number) => ({usageMetadata: {promptTokenCount: 1, candidatesTokenCount}, modelVersion: 'v'});
    expect(
      await responsesTo(
        {...(text('Hel') as object), ...usage(1)},
        {candidates: [{content: {role: 'model'}}]},
        {...(text('lo') as object), ...usage(2)},
        {...(text('', 'STOP') as object), ...usage(3)},
      ),
    ).toEqual([
      {content: {role: 'model', parts: [{text: 'Hel'}]}, partial: true, ...usage(1)},
      {content: {role: 'model', parts: [{text: 'lo'}]}, partial: true, ...usage(2)},
      {content: {role: 'model', parts: [{text: 'Hello'}]}, finishReason: 'STOP', ...usage(3)},
    ]);
  });

  test('is read no further than its reader asks', async () => {
    await using server = await rawServer(stream(text('one'), text('two', 'STOP')));
    const responses = geminiAt(server).generateContentAsync(ask(), true);
    expect(server.requests).toHaveLength(0);
    expect(await responses.next()).toMatchObject({value: {content: {parts: [{text: 'one'}]}}});
    await responses.return();
  });

  test('joins text to text and thought to thought, and nothing across another part', async () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'AA=='}};
    expect(
      await joined(
        [{text: 'a', thought: true}],
        [{text: 'b', thought: true}, {text: 'c'}],
        [{text: 'd'}],
        [image],
        [{text: 'e'}],
        [{text: 'f', thought: true}],
      ),
    ).toEqual([{text: 'ab', thought: true}, {text: 'cd'}, image, {text: 'e'}, {text: 'f', thought: true}]);
  });

  test('keeps a signature on exactly the part it came on, an empty one too', async () => {
    expect(
      await joined(
        [{text: 'a'}],
        [{text: 'b', thoughtSignature: 'c2ln'}],
        [{text: 'c'}],
        [{functionCall: {name: 'f', args: {}, id: '1'}, thoughtSignature: 'c2lo'}],
        [{functionCall: {name: 'g', args: {}, id: '2'}}],
        [{text: '', thoughtSignature: 'c2lp'}],
        [{text: ''}],
      ),
    ).toEqual([
      {text: 'a'},
      {text: 'b', thoughtSignature: 'c2ln'},
      {text: 'c'},
      {functionCall: {name: 'f', args: {}, id: '1'}, thoughtSignature: 'c2lo'},
      {functionCall: {name: 'g', args: {}, id: '2'}},
      {text: '', thoughtSignature: 'c2lp'},
    ]);
  });

  test('keeps parts of kinds that nobody knows yet', async () => {
    const strange = {hologram: {depth: 3}};
    expect(await joined([{text: 'a'}, strange], [{text: 'b', speechMetadata: {speaker: 's'}}, {text: 'c'}])).toEqual([
      {text: 'a'},
      strange,
      {text: 'b', speechMetadata: {speaker: 's'}},
      {text: 'c'},
    ]);
  });

  test('keeps what the reader holds: a later delta does not change an earlier partial', async () => {
    const [first, , last] = await responsesTo(text('a'), text('b', 'STOP'));
    expect(first?.content?.parts).toEqual([{text: 'a'}]);
    expect(last?.content?.parts).toEqual([{text: 'ab'}]);
  });

  test('follows the first candidate only', async () => {
    const other = {content: {role: 'model', parts: [{text: 'other'}]}, index: 1, finishReason: 'STOP'};
    expect(
      await responsesTo(
        {candidates: [other, {content: {parts: [{text: 'mine'}]}, index: 0}]},
        {candidates: [other]},
        {candidates: [{finishReason: 'STOP'}]},
      ),
    ).toEqual([
      {content: {role: 'model', parts: [{text: 'mine'}]}, partial: true},
      {content: {role: 'model', parts: [{text: 'mine'}]}, finishReason: 'STOP'},
    ]);
  });

  test('keeps grounding and citations, those of earlier chunks too', async () => {
    const cite = (uri: string) => ({citationSources: [{uri}]});
    const responses = await responsesTo(
      {candidates: [{content: {parts: [{text: 'a'}]}, citationMetadata: cite('u1'), groundingMetadata: {webSearchQueries: ['q']}}]},
      {
        candidates: [
          {citationMetadata: {citationSources: [{uri: 'u1'}, {uri: 'u2'}]}, groundingMetadata: {groundingChunks: []}, finishReason: 'STOP'},
        ],
      },
    );
    expect(responses.at(-1)).toMatchObject({
      citationMetadata: {citations: [{uri: 'u1'}, {uri: 'u2'}]},
      groundingMetadata: {webSearchQueries: ['q'], groundingChunks: []},
    });
  });
});

describe('an end that is no STOP', () => {
  test.each([
    {reason: 'MAX_TOKENS', message: 'The answer was cut at the limit of output tokens, which thoughts count towards (MAX_TOKENS)'},
    {reason: 'A_REASON_OF_TOMORROW', message: 'The model ended its answer with A_REASON_OF_TOMORROW'},
  ])('$reason is an error code, and the text that came stays', async ({reason, message}) => {
    expect((await responsesTo(text('half'), chunk([], reason))).at(-1)).toEqual({
      content: {role: 'model', parts: [{text: 'half'}]},
      finishReason: reason,
      errorCode: reason,
      errorMessage: message,
    });
  });

  test("takes the server's words where the backend gives them", async () => {
    const answer = {candidates: [{finishReason: 'MALFORMED_FUNCTION_CALL', finishMessage: 'Malformed function call: f(', content: {}}]};
    await using server = await rawServer(stream(answer));
    expect(await streamed(geminiAt(server, {vertexai: true}))).toEqual([
      {finishReason: 'MALFORMED_FUNCTION_CALL', errorCode: 'MALFORMED_FUNCTION_CALL', errorMessage: 'Malformed function call: f('},
    ]);
  });

  test('the last reason counts where every chunk brings one', async () => {
    expect((await responsesTo(text('a', 'STOP'), text('b', 'SAFETY'))).at(-1)).toMatchObject({finishReason: 'SAFETY', errorCode: 'SAFETY'});
  });

  test('an unspecified reason is none', async () => {
    await using server = await rawServer(stream(text('a', 'FINISH_REASON_UNSPECIFIED')));
    expect(await rejection(streamed(geminiAt(server)))).toMatchObject({code: 'STREAM_INCOMPLETE'});
  });

  test.each([
    {feedback: {blockReason: 'SAFETY'}, errorCode: 'SAFETY', errorMessage: 'The prompt was blocked (SAFETY)'},
    {feedback: {blockReason: 'OTHER', blockReasonMessage: 'Reasons'}, errorCode: 'OTHER', errorMessage: 'Reasons'},
    {feedback: {}, errorCode: 'BLOCKED_REASON_UNSPECIFIED', errorMessage: 'The prompt was blocked (BLOCKED_REASON_UNSPECIFIED)'},
  ])('a blocked prompt ($errorCode) is an error code, streamed or not', async ({feedback, errorCode, errorMessage}) => {
    const answer = {promptFeedback: feedback, usageMetadata: {promptTokenCount: 7}};
    const expected = {errorCode, errorMessage, usageMetadata: {promptTokenCount: 7}};
    expect(await responsesTo(answer)).toEqual([expected]);
    await using server = await rawServer(json(answer));
    expect(await whole(geminiAt(server))).toEqual(expected);
  });
});

describe('an answer without content', () => {
  test.each([
    {},
    {content: {}},
    {content: {role: 'model'}},
    {content: {parts: []}},
    {content: {parts: [{}]}},
    {content: {parts: [{text: ''}]}},
  ])('of the shape %j is no error and has no content, streamed or not', async (candidate) => {
    const answer = {candidates: [{...candidate, finishReason: 'STOP'}]};
    expect(await responsesTo(answer)).toEqual([{finishReason: 'STOP'}]);
    await using server = await rawServer(json(answer));
    expect(await whole(geminiAt(server))).toEqual({finishReason: 'STOP'});
  });

  test('not streamed and without a finish reason is no error either', async () => {
    await using server = await rawServer(json({candidates: [{content: {parts: [{text: 'a'}]}}]}));
    expect(await whole(geminiAt(server))).toEqual({content: {role: 'model', parts: [{text: 'a'}]}});
  });
});

describe('streamed arguments', () => {
  const call = (functionCall: unknown, more: object = {}) => [{functionCall, ...more}];
  const piece = (jsonPath: string, value: object) => call({partialArgs: [{jsonPath, ...value}], willContinue: true});

  test('are put together, with their name, id and signature, at the place where the call began', async () => {
    expect(
      await joined(
        [{text: 'a'}],
        call({name: 'f', id: 'i', willContinue: true}, {thoughtSignature: 'c2ln'}),
        piece('$.recipe.name', {stringValue: 'Las', willContinue: true}),
        piece('$.recipe.name', {stringValue: 'agna', willContinue: true}),
        piece('$.recipe.name', {stringValue: ''}),
        piece('$.recipe.ingredients[0].name', {stringValue: 'Egg'}),
        piece('$.recipe.ingredients[0].count', {numberValue: 2}),
        piece('$.recipe.ingredients[1].fresh', {boolValue: false}),
        piece("$['a key']", {nullValue: 'NULL_VALUE'}),
        [{text: ''}],
        call({}),
        [{text: 'b'}],
      ),
    ).toEqual([
      {text: 'a'},
      {
        functionCall: {
          name: 'f',
          id: 'i',
          args: {recipe: {name: 'Lasagna', ingredients: [{name: 'Egg', count: 2}, {fresh: false}]}, 'a key': null},
        },
        thoughtSignature: 'c2ln',
      },
      {text: 'b'},
    ]);
  });

  test('all in one chunk are a whole call', async () => {
    expect(
      await joined(
        call({
          name: 'f',
          partialArgs: [
            {jsonPath: '$.a', numberValue: 1},
            {jsonPath: '$.b', stringValue: 'x'},
          ],
        }),
      ),
    ).toEqual([{functionCall: {name: 'f', args: {a: 1, b: 'x'}}}]);
  });

  test('of several calls stay apart, with or without a terminator', async () => {
    expect(
      await joined(
        call({name: 'f', willContinue: true}),
        piece('$.a', {numberValue: 1}),
        call({name: 'g', willContinue: true}),
        piece('$.a', {numberValue: 2}),
        call({}),
        call({name: 'h'}),
        call({}),
        call({name: 'i', args: {b: 1}}),
        call({name: 'j', willContinue: true}),
      ),
    ).toEqual([
      {functionCall: {name: 'f', args: {a: 1}}},
      {functionCall: {name: 'g', args: {a: 2}}},
      {functionCall: {name: 'h'}},
      {functionCall: {name: 'i', args: {b: 1}}},
      {functionCall: {name: 'j', args: {}}},
    ]);
  });

  test('go on after a thought in between', async () => {
    expect(
      await joined(
        call({name: 'f', willContinue: true}),
        piece('$.a', {stringValue: 'x'}),
        [{text: 'hm', thought: true}],
        piece('$.a', {stringValue: 'y'}),
        call({}),
      ),
    ).toEqual([{functionCall: {name: 'f', args: {a: 'xy'}}}, {text: 'hm', thought: true}]);
  });

  test('come in partials as the fragments they are, of which only the first has a name', async () => {
    const responses = await responsesTo(
      chunk(call({name: 'f', willContinue: true})),
      chunk(piece('$.a', {numberValue: 1})),
      chunk(call({}), 'STOP'),
    );
    expect(responses.map(({partial, content}) => [partial, content?.parts])).toEqual([
      [true, [{functionCall: {name: 'f', willContinue: true}}]],
      [true, [{functionCall: {partialArgs: [{jsonPath: '$.a', numberValue: 1}], willContinue: true}}]],
      [undefined, [{functionCall: {name: 'f', args: {a: 1}}}]],
    ]);
  });

  test('cannot reach a prototype', async () => {
    const parts = await joined(call({name: 'f', partialArgs: [{jsonPath: '$.__proto__.polluted', boolValue: true}]}));
    expect(JSON.stringify(parts)).toBe('[{"functionCall":{"name":"f","args":{"__proto__":{"polluted":true}}}}]');
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
  });

  test.each(['a', '', '$', '$..a', '$.a[', '$[*]', '$.list[999999999]', '$.text.deeper', '$[0]'])(
    'at the place %j are a protocol error',
    async (jsonPath) => {
      const pieces = [
        {jsonPath: '$.text', stringValue: 'x'},
        {jsonPath, numberValue: 1},
      ];
      await using server = await rawServer(stream(chunk(call({name: 'f', partialArgs: pieces}), 'STOP')));
      expect(await rejection(streamed(geminiAt(server)))).toMatchObject({code: 'PROTOCOL_ERROR'});
    },
  );
});
