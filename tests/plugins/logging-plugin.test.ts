import {createEvent, FunctionTool, getFunctionCalls, type InvocationContext, type Part} from 'sluice';
import {expect, test, vi} from 'vitest';
import {LoggingPlugin} from 'sluice/plugins';
import {collect, functionCalls, text} from 'sluice/testing';
import {line, lines, stage} from '../stories/kit.ts';
import {broken, echo} from './kit.ts';

/** A log in which ids do not differ from run to run. */
function keep() {
  const log: string[] = [];
  return {
    log,
    plugin: new LoggingPlugin('log', {
      log: (entry) => log.push(entry.replaceAll(/\b(adk|e)-[0-9a-f-]{36}/g, '<$1>').replaceAll(/\b[0-9a-f-]{36}/g, '<id>')) as never,
    }),
  };
}

test('LoggingPlugin tells of each hook in one line, and changes nothing', async () => {
  const {log, plugin} = keep();
  const it = await stage({
    steps: [
      {...functionCalls({name: 'echo', id: '1', args: {say: 'a\nb'}}, {name: 'broken', id: '2'}), usageMetadata: {totalTokenCount: 9}},
      'done',
    ],
    agent: {tools: [echo, broken], instruction: 'Be brief.'},
    runner: {plugins: [plugin]},
  });
  const expected = [
    'root: echo({"say":"a\\nb"}) broken({})',
    'root: echo={"result":"said"} broken={"error":"out of order"}',
    'root: "done"',
  ];
  expect(await lines(it.run())).toEqual(expected);
  await it.runner.close();
  expect(log).toEqual([
    '[log] user u in s: "go"',
    '[log] run <e> starts with root',
    '[log] agent root starts',
    '[log] agent root asks scripted, 1 contents, told: Be brief.',
    '[log] agent root gets a reply: calls echo {"say":"a\\nb"} | calls broken {} (9 tokens)',
    '[log] event <id> of root: calls echo {"say":"a\\nb"} | calls broken {} (9 tokens)'.replace(' (9 tokens)', ''),
    '[log] tool echo 1 starts: {"say":"a\\nb"}',
    '[log] tool broken 2 starts: {}',
    '[log] tool echo 1 gives: {"result":"said"}',
    '[log] tool broken 2 fails: out of order',
    '[log] event <id> of root: echo gave {"result":"said"} | broken gave {"error":"out of order"}',
    '[log] agent root asks scripted, 3 contents, told: Be brief.',
    '[log] agent root gets a reply: "done"',
    '[log] event <id> of root: "done"',
    '[log] agent root is over',
    '[log] run <e> is over',
    '[log] the runner closes',
  ]);
});

test('LoggingPlugin tells of a failure', async () => {
  const {log, plugin} = keep();
  const it = await stage({steps: [new Error('no\nmodel')], runner: {plugins: [plugin]}});
  await collect(it.run());
  expect(log.slice(4)).toEqual([
    '[log] model of root fails: MODEL_FAILED: no model',
    '[log] agent root fails: no model',
    '[log] agent root is over',
    '[log] run <e> fails: no model',
    '[log] run <e> is over',
  ]);
});

test('LoggingPlugin shows no media, no signatures and no more than the beginning of a text', async () => {
  const {log, plugin} = keep();
  const it = await stage({
    steps: [
      {
        content: {
          role: 'model',
          parts: [
            {text: 'hm', thought: true, thoughtSignature: 'c2lnbmVk'},
            {inlineData: {mimeType: 'image/png', data: 'QUJDRA=='}},
            {text: 'x'.repeat(1_000)},
          ],
        },
        finishReason: 'STOP',
      },
    ],
    runner: {plugins: [plugin]},
  });
  const newMessage = {
    role: 'user',
    parts: [
      {text: 'see'},
      {inlineData: {mimeType: 'image/png', data: 'QUJDRA=='}},
      {fileData: {mimeType: 'video/mp4', fileUri: 'gs://b/secret'}},
    ],
  };
  await lines(it.run('', {newMessage}));
  expect(log[0]).toBe('[log] user u in s: "see" | <image/png, 6 bytes> | <video/mp4>');
  expect(log.find((entry) => entry.includes('gets a reply'))).toBe(
    `[log] agent root gets a reply: thinks "hm" | <image/png, 6 bytes> | "${'x'.repeat(200)}..."`,
  );
  expect(log.filter((entry) => /QUJD|c2ln|secret/.test(entry))).toEqual([]);
});

test('LoggingPlugin shows nothing of a credential that a tool asks for, in this run or a later one', async () => {
  const {log, plugin} = keep();
  const authConfig = {authScheme: {type: 'oauth2'}, rawAuthCredential: {oauth2: {clientId: 'SECRET', clientSecret: 'SECRET'}}};
  const tool = new FunctionTool({
    name: 'calendar',
    description: 'Reads the calendar.',
    execute: (_args, context) => {
      if (!context.getAuthResponse()) return context.requestCredential(authConfig);
      return {given: context.getAuthResponse(), made: context.session.events.flatMap(getFunctionCalls).slice(1)};
    },
  });
  const steps = [functionCalls({name: 'calendar', id: '1'}), text('You are free.')];
  const it = await stage({steps, agent: {tools: [tool]}, runner: {plugins: [plugin]}});
  const asked = (await collect(it.run())).events.flatMap(getFunctionCalls).find(({name}) => name === 'adk_request_credential');
  const answer = {
    id: asked?.id ?? '',

    response: {note: '-', result: '{"access_token": "SECRET"}'},
  };
  await lines(it.run('', {newMessage: {role: 'user', parts: [{functionResponse: answer}]}}));
  expect(it.model.calls).toBe(2);
  const made = `{"id":"<adk>","name":"adk_request_credential","args":"<credential>"}`;
  expect(log.filter((entry) => entry.includes('<credential>'))).toEqual([
    '[log] event <id> of root: calls adk_request_credential <credential> (waits for <adk>)',
    '[log] user u in s: adk_request_credential gave <credential>',
    `[log] tool calendar 1 gives: {"given":{"note":"-","result":"{\\"access_token\\":\\"<credential>\\"}"},"made":[${made}]}`,
    `[log] event <id> of root: calendar gave {"given":{"note":"-","result":"{\\"access_token\\":\\"<credential>\\"}"},"made":[${made}]}`,
  ]);
  expect(log.filter((entry) => entry.includes('SECRET'))).toEqual([]);
});

test('LoggingPlugin knows the answer to a request for a credential by its id too', () => {
  const {log, plugin} = keep();
  const request = {functionCall: {id: '1', name: 'adk_request_credential', args: {}}};
  const events = [createEvent({id: 'a', author: 'root', content: {role: 'model', parts: [request]}})];
  const parts = [{functionResponse: {id: '1', response: {anything: 'SECRET'}}}, {functionResponse: {id: '2', name: 'f', response: {n: 1}}}];
  const event = createEvent({id: 'b', author: 'user', content: {role: 'user', parts}});
  plugin.onEventCallback({invocationContext: {run: {session: {events}}} as InvocationContext, event});
  expect(log).toEqual(['[log] event b of user: a call gave <credential> | f gave {"n":1}']);
});

test.each<[string, Part, string]>([
  ['arguments', {functionCall: {name: 'f', args: {user: 'ada', api_key: 'SECRET'}}}, 'calls f {"user":"ada","api_key":"<credential>"}'],
  [
    'a header',
    {functionCall: {name: 'f', args: {headers: {Authorization: 'SECRET'}}}},
    'calls f {"headers":{"Authorization":"<credential>"}}',
  ],
  [
    'JSON in a response',
    {functionResponse: {name: 'f', response: {result: '{"page":1,"auth":{"refresh_token":"SECRET"}}'}}},
    String.raw`f gave {"result":"{\"page\":1,\"auth\":{\"refresh_token\":\"<credential>\"}}"}`,
  ],
  [
    'Events in a response',
    {functionResponse: {name: 'f', response: {actions: {requestedAuthConfigs: {a: 'SECRET'}}, requested_auth_configs: ['SECRET']}}},
    'f gave {"actions":{"requestedAuthConfigs":"<credential>"},"requested_auth_configs":"<credential>"}',
  ],
  ['a text that is JSON', {text: '{"clientSecret": {"value": "SECRET"}}'}, '"{"clientSecret":"<credential>"}"'],
  ['a piece of JSON', {text: 'It was {"password": "SEC\\"RET", "n": 1'}, '"It was {"password": "<credential>", "n": 1"'],
  ['the query of a URL', {text: 'https://a.example/?q=1&access_token=SECRET#x'}, '"https://a.example/?q=1&access_token=<credential>"'],
  ['the words of a header', {text: 'Authorization: Bearer SECRET.SECRET'}, '"Authorization: Bearer <credential>"'],
  [
    'no credential',
    {text: 'The token count: 7 tokens, key={"totalTokenCount":7}'},
    '"The token count: 7 tokens, key={"totalTokenCount":7}"',
  ],
])('LoggingPlugin hides what is named like a credential in %s', async (_, part, shown) => {
  const {log, plugin} = keep();
  const it = await stage({runner: {plugins: [plugin]}, steps: [{content: {role: 'model', parts: [part]}, finishReason: 'STOP'}]});
  await collect(it.run());
  expect(log[4]).toBe(`[log] agent root gets a reply: ${shown}`);
  expect(log.filter((entry) => entry.includes('SECRET'))).toEqual([]);
});

test('LoggingPlugin takes no longer for a long text that could be one name', async () => {
  const {log, plugin} = keep();
  const it = await stage({runner: {plugins: [plugin]}, steps: ['z-'.repeat(1_000_000)]});
  await collect(it.run());
  expect(log[4]).toBe(`[log] agent root gets a reply: "${'z-'.repeat(100)}..."`);
});

test('LoggingPlugin writes to the console by default, under its own name', async () => {
  const console = vi.spyOn(globalThis.console, 'log').mockImplementation(() => {});
  try {
    const it = await stage({steps: [text('done')], runner: {plugins: [new LoggingPlugin()]}});
    expect((await collect(it.run())).events.map(line)).toEqual(['root: "done"']);
    expect(console.mock.calls[0]).toEqual(['[logging_plugin] user u in s: "go"']);
    expect(console.mock.calls).toHaveLength(8);
  } finally {
    console.mockRestore();
  }
});
