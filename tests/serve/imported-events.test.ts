import {expect, test} from 'vitest';
import {stringifyContent, type Session} from 'sluice';
import {saying, site} from './kit.ts';

const SESSIONS = '/apps/app/users/u/sessions';
const said = (part: unknown): object => ({content: {role: 'model', parts: [{text: 'So.'}, part]}});

test.each<[string, object, string]>([
  ['a part that is null', said(null), 'content.parts[1]'],
  ['a part that is a number', said(7), 'content.parts[1]'],
  ['a text that is none', said({text: 5}), 'content.parts[1].text'],
  ['a thought that is none', said({text: 'x', thought: 'yes'}), 'content.parts[1].thought'],
  ['a call that is none', said({functionCall: 'f'}), 'content.parts[1].functionCall'],
  ['a call with arguments that are none', said({function_call: {name: 'f', args: 'x'}}), 'content.parts[1].functionCall.args'],
  ['a request to a person', said({function_call: {name: 'adk_request_confirmation', args: {}}}), 'content.parts[1].functionCall.name'],
  ['a call with an id that is none', said({functionCall: {name: 'f', id: 5}}), 'content.parts[1].functionCall.id'],
  ['a call with a name that is none', said({functionCall: {name: {}}}), 'content.parts[1].functionCall.name'],
  ['a response that is none', said({functionResponse: 5}), 'content.parts[1].functionResponse'],
  ['a response that says a text', said({functionResponse: {name: 'f', response: 'x'}}), 'content.parts[1].functionResponse.response'],
  ['a response with parts that are none', said({functionResponse: {name: 'f', parts: [1]}}), 'content.parts[1].functionResponse.parts'],
  ['data that are none', said({inlineData: {mimeType: 'image/png', data: 5}}), 'content.parts[1].inlineData.data'],
  ['a file that is none', said({fileData: []}), 'content.parts[1].fileData'],
  ['code that is none', said({executableCode: 'x'}), 'content.parts[1].executableCode'],
  ['a content that is a list', {content: []}, 'content'],
  ['a role that is none', {content: {role: 5, parts: []}}, 'content.role'],
  ['waiting calls that are no list', {longRunningToolIds: {}}, 'longRunningToolIds'],
  ['waiting calls without ids', {long_running_tool_ids: ['c', 5]}, 'longRunningToolIds'],
  ['a branch that is none', {branch: 5}, 'branch'],
  ['an error code that is none', {errorCode: {}}, 'errorCode'],
  ['usage that is none', {usage_metadata: 5}, 'usageMetadata'],
  ['metadata that are none', {customMetadata: 5}, 'customMetadata'],
  ['a transcription that is none', {inputTranscription: {text: 5}}, 'inputTranscription.text'],
  ['a turn that is complete somehow', {turnComplete: 7}, 'turnComplete'],
  ['a time that no clock has', {timestamp: 'now'}, 'timestamp'],
  ['confirmations that are none', {actions: {requestedToolConfirmations: 5}}, 'actions.requestedToolConfirmations'],
  ['an agent that is none', {actions: {transfer_to_agent: 5}}, 'actions.transferToAgent'],
  ['versions that are none', {actions: {artifactDelta: {a: '1'}}}, 'actions.artifactDelta'],
])('an imported event with %s is refused by its path', async (_, event, path) => {
  const it = await site();
  const body = {
    sessionId: 'new',
    events: [
      {author: 'user', content: {parts: [{text: 'Hi'}]}},
      {author: 'root', ...event},
    ],
  };
  const told = await it.json('POST', SESSIONS, body);
  expect(told).toMatchObject({
    status: 422,
    body: {code: 'INVALID_FIELD', field: `events[1].${path}`, detail: expect.stringMatching(/^Expected /)},
  });
  expect((await it.ask('GET', `${SESSIONS}/new`)).status).toBe(404);
  expect(it.errors).toEqual([]);
});

test('an imported event may say null for what is absent, and what Sluice does not know is kept', async () => {
  const it = await site({steps: ['Hello.']});
  const parts = [
    {text: 'So.', function_call: null, inline_data: null, videoMetadata: null},
    {function_call: {id: 'c', name: 'f', args: {a: null}}},
  ];
  const events = [
    {author: 'root', content: {role: 'model', parts}, branch: null, error_code: null, actions: {state_delta: {a: null}, escalate: null}},
    {author: 'root', content: {role: 'user', parts: [{functionResponse: {id: 'c', name: 'f', response: {b: null}}}]}, avg_logprobs: -0.5},
  ];
  const {status, body} = await it.json('POST', SESSIONS, {sessionId: 'new', events});
  expect([status, (body as Session).state]).toEqual([200, {a: null}]);
  expect((body as Session).events.map(({content}) => content?.parts)).toEqual([
    [{text: 'So.'}, {functionCall: {id: 'c', name: 'f', args: {a: null}}}],
    [{functionResponse: {id: 'c', name: 'f', response: {b: null}}}],
  ]);
  expect((body as Session).events[1]).toMatchObject({avgLogprobs: -0.5});
  const answer = await it.json('POST', '/run', saying('And?', {sessionId: 'new'}));
  expect((answer.body as Session['events']).map(stringifyContent)).toEqual(['Hello.']);
});
