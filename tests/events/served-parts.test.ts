import {expect, test} from 'vitest';
import {createEvent, FunctionTool, isFinalResponse, StreamingMode, type Part} from 'sluice';
import {functionCalls} from 'sluice/testing';
import {servedParts} from '../../lib/events/served-parts.ts';
import {collect} from '../../lib/testing/index.ts';
import {line, stage} from '../stories/kit.ts';

const call = (name: string, id?: string): Part => ({functionCall: {name, args: {}, ...(id !== undefined && {id})}});
const result = (name: string, id?: string): Part => ({functionResponse: {name, response: {}, ...(id !== undefined && {id})}});

test.each<[string, readonly Part[], readonly number[]]>([
  ['no parts', [], []],
  ['a call', [call('a')], []],
  ['responses', [result('a'), result('b')], []],
  ['a call and its response', [call('a'), result('a'), {text: 'so'}], [0, 1]],
  ['a response before a call', [result('a'), call('a')], []],
  ['a call that is answered, between two that are not', [call('a'), call('b'), result('b'), call('b')], [1, 2]],
  ['two calls of one name, one of them answered', [call('a'), call('a'), result('a')], [0, 2]],
  ['a call with an id of ours, answered under none', [call('a', 'adk-1'), result('a')], [0, 1]],
])('the parts that are a matter of the server in a content with %s', (_, parts, served) => {
  const found = servedParts(parts);
  expect(parts.flatMap((part, at) => (found.has(part) ? [at] : []))).toEqual(served);
});

test('a reply whose calls the server has answered is a final response, and one with a call that is open is not', () => {
  const event = (...parts: Part[]): ReturnType<typeof createEvent> => createEvent({author: 'root', content: {role: 'model', parts}});
  expect(isFinalResponse(event(call('a'), result('a'), {text: 'so'}))).toBe(true);
  expect(isFinalResponse(event(call('a'), result('a'), call('b')))).toBe(false);
});

test('a call that the server has run is not run again: the reply ends the run, and goes back as it came', async () => {
  const ran: string[] = [];
  const tool = new FunctionTool({name: 'a', description: 'Has a name that the server knows too.', execute: () => ran.push('a')});
  const reply = {content: {role: 'model', parts: [call('a'), result('a'), {text: 'so'}]}, finishReason: 'STOP'};
  const it = await stage({steps: [reply, 'fine'], agent: {tools: [tool], outputKey: 'said'}});
  const {events, outcome} = await collect(it.run());
  expect(events.map(line)).toEqual(['root: a({}) a={} "so"']);
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
  expect(await it.state()).toEqual({said: 'so'});
  await collect(it.run('and?'));
  expect(it.model.requests[1]?.contents.map(({role, parts}) => [role, parts?.length])).toEqual([
    ['user', 1],
    ['model', 3],
    ['user', 1],
  ]);
  expect(ran).toEqual([]);
});

test('beside such a call the others are run, and answered in the next content', async () => {
  const tool = new FunctionTool({name: 'b', description: 'Is ours.', execute: () => 'ours'});
  const reply = {content: {role: 'model', parts: [call('a'), result('a'), call('b')]}, finishReason: 'STOP'};
  const it = await stage({steps: [reply, 'fine'], agent: {tools: [tool]}});
  expect((await collect(it.run())).events.map(line)).toEqual(['root: a({}) a={} b({})', 'root: b={"result":"ours"}', 'root: "fine"']);
  expect(it.model.requests[1]?.contents.map(({role, parts}) => [role, parts?.length])).toEqual([
    ['user', 1],
    ['model', 3],
    ['user', 1],
  ]);
});

test('of a reply that is stopped behind such a call its text stays, without the call and without the response', async () => {
  const it = await stage({
    steps: [
      [
        {partial: true, content: {role: 'model', parts: [{text: 'Let me see. '}]}},
        {partial: true, content: {role: 'model', parts: [call('a'), result('a')]}},
        functionCalls({name: 'unused'}),
      ],
    ],
    runConfig: {streamingMode: StreamingMode.SSE},
  });
  const run = it.run();
  await run.next();
  await run.next();
  await run.return();
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "Let me see. " [stopped]']);
});
