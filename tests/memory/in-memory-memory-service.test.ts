import {describe, expect, test} from 'vitest';
import {createEvent, InvalidOptionError, type Event, type Part, type Session} from '../../lib/index.ts';
import {InMemoryMemoryService, type InMemoryMemoryServiceOptions} from '../../lib/memory/in-memory-memory-service.ts';
import {memoryServiceSuite} from '../../lib/testing/memory-service-suite.ts';

describe('InMemoryMemoryService is a memory service', () => {
  test.each(memoryServiceSuite(() => new InMemoryMemoryService()))('$name', async ({run}) => {
    await expect(run()).resolves.toBeUndefined();
  });

  test('also where all cases run at once on one service', async () => {
    const service = new InMemoryMemoryService();
    const cases = memoryServiceSuite(() => service);
    expect(await Promise.all(cases.map(({run}) => run()))).toEqual(cases.map(() => undefined));
  });
});

const user = {appName: 'demo', userId: 'ada'};

function sessionOf(events: readonly Event[], id = 's'): Session {
  return {id, ...user, state: {}, events: [...events], lastUpdateTime: 0};
}

function said(...parts: (string | Part)[]): Event {
  return createEvent({
    author: 'user',
    timestamp: 0,
    content: {role: 'user', parts: parts.map((part) => (typeof part === 'string' ? {text: part} : part))},
  });
}

/** A service that remembers these texts, and what it finds. */
async function remembering(
  texts: readonly string[],
  options?: InMemoryMemoryServiceOptions,
): Promise<(query: string) => Promise<unknown[]>> {
  const service = new InMemoryMemoryService(options);
  await service.addSessionToMemory(sessionOf(texts.map((text) => said(text))));
  return async (query) => (await service.searchMemory({...user, query})).memories.map(({content}) => content.parts?.[0]?.text);
}

test.each([
  ['any word of the query', 'Which colour does Ada like?', 'Ada paints'],
  ['another case', 'TURQUOISE', 'turquoise'],
  ['punctuation around words', '"turquoise"?', 'I like turquoise.'],
  ['a number', 'room 101', 'It was in 101'],
  ['German', 'über', 'ÜBER den Wolken'],
  ['another spelling of é', 'cafe\u0301', 'Das Caf\u00e9'],
  ['full-width letters', 'ＡＤＡ', 'ada was here'],
  ['Greek', 'ΑΘΉΝΑ', 'στην αθήνα'],
  ['Russian', 'Москва', 'москва, весна'],
  ['Arabic', 'القاهرة', 'زرت القاهرة أمس'],
  ['Hindi', 'दिल्ली', 'मैं दिल्ली में रहता हूँ'],
  ['Japanese', '京都の天気は？', '去年、京都へ行きました'],
  ['Japanese, where the text goes on in the same script', '東京', '東京都庁に行った'],
  ['Chinese', '我最喜欢的颜色', '颜色是蓝色'],
  ['Korean', '서울', '나는 서울 산다'],
  ['Thai', 'กรุงเทพ', 'ฉันอยู่ที่กรุงเทพ'],
])('a memory is found by %s', async (_name, query, text) => {
  const find = await remembering([text]);
  expect(await find(query)).toEqual([text]);
});

test.each([
  ['a part of a word', 'art', 'a smart cart'],
  ['a Japanese particle', 'の', '京都の天気'],
  ['punctuation', '?!', 'Really?!'],
  ['words of a pattern', '.*', 'anything'],
  ['no word at all', '', 'anything'],
])('a memory is not found by %s', async (_name, query, text) => {
  const find = await remembering([text]);
  expect(await find(query)).toEqual([]);
});

test('memories come in the order in which they were said, sessions in the order in which they were first added', async () => {
  const service = new InMemoryMemoryService();
  await service.addSessionToMemory(sessionOf([said('sea one'), said('sea two')], 'first'));
  await service.addSessionToMemory(sessionOf([said('sea three')], 'second'));
  await service.addSessionToMemory(sessionOf([said('sea one'), said('deep blue sea')], 'first'));
  const {memories} = await service.searchMemory({...user, query: 'blue sea'});
  expect(memories.map(({content}) => content.parts?.[0]?.text)).toEqual(['sea one', 'deep blue sea', 'sea three']);
});

test('of more memories than may be given those win that share the most words, and then the later ones', async () => {
  const texts = ['blue sea', 'sea one', 'sea two', 'sea three'];
  expect(await (await remembering(texts, {maxMemories: 3}))('blue sea')).toEqual(['blue sea', 'sea two', 'sea three']);
  expect(await (await remembering(texts, {maxMemories: 1}))('blue sea')).toEqual(['blue sea']);
  const many = Array.from({length: 60}, (_, index) => `sea ${index}`);
  expect(await (await remembering(many))('sea')).toEqual(many.slice(10));
});

test('only what somebody said is searched: no thought, no call, no partial Event', async () => {
  const service = new InMemoryMemoryService();
  const parts: Part[] = [
    {text: 'secret', thought: true},
    {functionCall: {name: 'secret', args: {secret: 'secret'}}},
    {functionResponse: {name: 'f', response: {secret: 'secret'}}},
    {text: 'open'},
  ];
  await service.addSessionToMemory(sessionOf([said(...parts), createEvent({...said('open secret'), partial: true})]));
  expect(await service.searchMemory({...user, query: 'secret'})).toEqual({memories: []});
  expect(await service.searchMemory({...user, query: 'open'})).toEqual({
    memories: [{content: {role: 'user', parts}, author: 'user', timestamp: '1970-01-01T00:00:00.000Z'}],
  });
});

test('the text of all parts of an Event counts', async () => {
  const service = new InMemoryMemoryService();
  await service.addSessionToMemory(sessionOf([said('first', {inlineData: {mimeType: 'image/png', data: ''}}, 'second')]));
  expect((await service.searchMemory({...user, query: 'second'})).memories.length).toBe(1);
});

test.each([[{maxMemories: 0}], [{maxMemories: 1.5}], [{maxMemories: '5'}], [{maxMemory: 5}], [null]])(
  'the options %j are refused',
  (options) => {
    expect(() => new InMemoryMemoryService(options as never)).toThrow(InvalidOptionError);
  },
);

test('an option that does not exist is told the nearest that does', () => {
  expect(() => new InMemoryMemoryService({maxMemory: 5} as never)).toThrow(
    'Expected `memoryService.maxMemory` to be absent, as there is no such option (did you mean `maxMemories`? known: maxMemories), got 5 (number)',
  );
});
