// What people reported about odd, broken and empty replies, as they come over the wire.
import {describe, expect, test} from 'vitest';
import {FunctionTool, getFunctionCalls, ModelError, StreamingMode} from 'sluice';
import {answer, chunks, collect, failure, raw} from 'sluice/testing';
import {expectValid, line} from '../stories/kit.ts';
import {wired} from './wired.ts';

const modes = [StreamingMode.SSE, StreamingMode.NONE];
const sse = (...responses: readonly object[]): string => responses.map((response) => `data: ${JSON.stringify(response)}\r\n\r\n`).join('');
const said = (text: string, finishReason?: string): object => ({
  candidates: [{content: {role: 'model', parts: [{text}]}, ...(finishReason && {finishReason}), index: 0}],
});

/** One response, as a stream of one or as the whole answer. */
const only = (mode: StreamingMode, response: object) => raw(mode === StreamingMode.SSE ? sse(response) : JSON.stringify(response));

// livekit/agents-js PR#1055
describe.each(modes)('a reply that says nothing, streaming mode %s', (streamingMode) => {
  const empty: [string, object][] = [
    ['no candidates', {candidates: [], usageMetadata: {promptTokenCount: 3}}],
    ['no candidates at all', {usageMetadata: {promptTokenCount: 3}}],
    ['a candidate without content', {candidates: [{finishReason: 'STOP'}]}],
    ['an empty content', {candidates: [{content: {}, finishReason: 'STOP'}]}],
    ['a content without parts', {candidates: [{content: {role: 'model'}, finishReason: 'STOP'}]}],
    ['a content with an empty list of parts', {candidates: [{content: {role: 'model', parts: []}, finishReason: 'STOP'}]}],
    ['an empty part', {candidates: [{content: {role: 'model', parts: [{}]}, finishReason: 'STOP'}]}],
    ['an empty text', {candidates: [{content: {role: 'model', parts: [{text: ''}]}, finishReason: 'STOP'}]}],
  ];

  test.each(empty)('%s, is asked again, and not kept', async (_, response) => {
    await using it = await wired({runConfig: {streamingMode}, replies: [only(streamingMode, response), answer('Here I am.')]});
    const {events, outcome} = await collect(it.stage.run());
    expect(events.at(-1)?.content?.parts).toEqual([{text: 'Here I am.'}]);
    expect(outcome.kind).toBe('done');
    expect((await it.stage.stored()).map(line)).toEqual(['user: "go"', 'root: "Here I am."']);
    expect(it.server.requests).toHaveLength(2);
  });

  test.each(empty)('%s, is told by its code when it stays so', async (_, response) => {
    await using it = await wired({runConfig: {streamingMode}, replies: Array.from({length: 20}, () => only(streamingMode, response))});
    const {events, error, outcome} = await collect(it.stage.run());
    const code = outcome.errorCode ?? (error as ModelError).code;
    expect(['MODEL_RETURNED_NO_CONTENT', 'EMPTY_RESPONSE', 'STREAM_INCOMPLETE']).toContain(code);
    expect(error === undefined ? outcome.kind : (error as ModelError).name).toBe(error === undefined ? 'done' : 'ModelError');
    expect(events.length).toBe(error === undefined ? 1 : 0);
    expect(it.server.requests.length).toBe(3);
    expectValid(await it.stage.stored());
  });

  test.each(['SAFETY', 'RECITATION', 'BLOCKLIST', 'PROHIBITED_CONTENT', 'SPII'])(
    'because of %s, is told and not asked again',
    async (finishReason) => {
      await using it = await wired({
        runConfig: {streamingMode},
        replies: [only(streamingMode, {candidates: [{finishReason}]}), answer('unused')],
      });
      const {events, outcome} = await collect(it.stage.run());
      expect(events).toMatchObject([{errorCode: finishReason, errorMessage: expect.any(String)}]);
      expect(outcome).toMatchObject({kind: 'done', errorCode: finishReason, llmCalls: 1});
      expect(it.server.requests).toHaveLength(1);
    },
  );

  test('because its prompt was blocked, is told and not asked again', async () => {
    await using it = await wired({runConfig: {streamingMode}, replies: [only(streamingMode, {promptFeedback: {blockReason: 'SAFETY'}})]});
    expect((await collect(it.stage.run())).outcome).toMatchObject({kind: 'done', errorCode: 'SAFETY', llmCalls: 1});
  });
});

describe('a stream that breaks', () => {
  const error = (code: number, status: string): string => JSON.stringify({error: {code, message: `Sorry, ${code}.`, status}}, null, 2);

  /** Pieces that do not travel in one packet. */
  const apart = {chunkDelayMs: 50};

  // googleapis/js-genai#1342
  test.each([
    [
      'in the middle of its JSON',
      raw([sse(said('Half an answer.')), 'data: {"candidates": [{"content": {"parts": [{"te']),
      {code: 'PROTOCOL_ERROR', status: undefined},
    ],
    ['before its finish reason', raw(sse(said('Half an answer.'))), {code: 'STREAM_INCOMPLETE', status: undefined}],
    [
      'with its connection',
      chunks(['Half an answer.', 'more'], {fault: {kind: 'reset', after: 1}}),
      {code: 'CONNECTION_LOST', status: undefined},
    ],
    // googleapis/js-genai#461
    [
      'with a 500 in its midst',
      raw([sse(said('Half an answer.')), error(500, 'INTERNAL')], apart),
      {code: 'INTERNAL', status: 500, message: 'Sorry, 500.'},
    ],
    // Glued to an event the SDK loses the error's own words.
    [
      'with a 500 glued to what it said',
      raw(sse(said('Half an answer.')) + error(500, 'INTERNAL')),
      {code: 'PROTOCOL_ERROR', status: undefined},
    ],
    [
      'with an error event',
      raw([sse(said('Half an answer.')), `data: ${JSON.stringify(JSON.parse(error(503, 'UNAVAILABLE')))}\r\n\r\n`]),
      {code: 'UNAVAILABLE', status: 503, message: 'Sorry, 503.'},
    ],
  ])('%s ends the run with a typed error, and its text is kept', async (_, reply, expected) => {
    await using it = await wired({replies: [reply, answer('Whole.')]});
    const {events, error, outcome} = await collect(it.stage.run());
    expect(error).toBeInstanceOf(ModelError);
    expect(error).toMatchObject(expected);
    expect(events.map(line)).toEqual(['root: "Half an answer." [partial]']);
    expect(outcome).toMatchObject({kind: 'error', reason: error});
    expect((await it.stage.stored()).map(line)).toEqual(['user: "go"', 'root: "Half an answer." [stopped]']);
    expect(it.server.requests).toHaveLength(1);

    expect((await collect(it.stage.run('again'))).events.at(-1)?.content?.parts).toEqual([{text: 'Whole.'}]);
    expect(it.server.requests[1]?.body.contents?.map(({role, parts}) => [role, parts?.[0]?.text])).toEqual([
      ['user', 'go'],
      ['model', 'Half an answer.'],
      ['user', 'again'],
    ]);
  });

  // googleapis/python-genai#2604, vercel/ai#18667
  test.each([
    [429, 'RESOURCE_EXHAUSTED'],
    [503, 'UNAVAILABLE'],
  ])('with a %i is sent again as long as nothing was yielded, and not afterwards', async (code, status) => {
    await using first = await wired({
      replies: [raw(error(code, status)), raw(`data: ${JSON.stringify(JSON.parse(error(code, status)))}\r\n\r\n`), answer('At last.')],
    });
    const {events, outcome} = await collect(first.stage.run());
    expect(events.map(line)).toEqual(['root: "At last." [partial]', 'root: "At last."']);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
    expect(first.server.requests.map(({bodyText}) => bodyText)).toEqual(Array.from({length: 3}, () => first.server.requests[0]?.bodyText));

    await using later = await wired({replies: [raw([sse(said('Well,')), error(code, status)], apart), answer('unused')]});
    const broken = await collect(later.stage.run());
    expect(broken.error).toMatchObject({name: 'ModelError', code: status, status: code});
    expect(broken.events.map(line)).toEqual(['root: "Well," [partial]']);
    expect(later.server.requests).toHaveLength(1);
  });

  // google/adk-python#2021
  test('before it began tells its error to the reader, with status, code and the server’s own words', async () => {
    await using it = await wired({replies: [failure({code: 403, status: 'PERMISSION_DENIED', message: 'Not you.'})]});
    expect(await collect(it.stage.run())).toMatchObject({
      events: [],
      error: {name: 'ModelError', code: 'PERMISSION_DENIED', status: 403, message: 'Not you.'},
      outcome: {kind: 'error', llmCalls: 1},
    });
  });
});

// google/adk-js#21, #22, #485, #426, #395, #289, #311
describe('chunks that say nothing', () => {
  const call = {functionCall: {name: 'look', args: {}}};
  const usage = (totalTokenCount: number) => ({usageMetadata: {promptTokenCount: 1, totalTokenCount}});
  const parts = (list: readonly object[], finishReason?: string) => ({
    candidates: [{content: {role: 'model', parts: list}, ...(finishReason && {finishReason}), index: 0}],
    modelVersion: 'm',
  });
  const streams: [string, object[]][] = [
    ['metadata alone at the end', [{...parts([call], 'STOP')}, usage(9)]],
    ['an empty list of candidates at the end', [{...parts([call], 'STOP')}, {candidates: [], ...usage(9)}]],
    ['a finish reason alone', [parts([call]), {candidates: [{finishReason: 'STOP', index: 0}], ...usage(9)}]],
    ['an empty text with the finish reason', [parts([call]), {...parts([{text: ''}], 'STOP'), ...usage(9)}]],
    ['an empty content with the finish reason', [parts([call]), {candidates: [{content: {}, finishReason: 'STOP'}], ...usage(9)}]],
    ['metadata alone, before and between', [usage(1), parts([{text: ''}]), parts([call]), usage(5), {...parts([], 'STOP'), ...usage(9)}]],
  ];

  test.each(streams)('%s: the call runs, the loop goes on, the usage is kept, nothing empty is stored or sent', async (_, responses) => {
    let looked = 0;
    await using it = await wired({
      agent: {tools: [new FunctionTool({name: 'look', description: 'Looks.', execute: () => ++looked})]},
      replies: [raw(sse(...responses)), raw(sse(parts([{text: 'Seen.'}]), {...parts([{text: ''}], 'STOP'), ...usage(4)}, usage(11)))],
    });
    const {events, outcome} = await collect(it.stage.run());
    expect(looked).toBe(1);
    expect(events.filter((event) => !event.partial).map(line)).toEqual(['root: look({})', 'root: look={"result":1}', 'root: "Seen."']);
    expect(events.filter((event) => event.partial).every((event) => (event.content?.parts?.length ?? 0) > 0)).toBe(true);
    expect(events.findLast((event) => getFunctionCalls(event).length > 0)?.usageMetadata?.totalTokenCount).toBe(9);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 2, usage: {totalTokenCount: 20}});
    expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined]);
    expectValid(await it.stage.stored());
  });
});
