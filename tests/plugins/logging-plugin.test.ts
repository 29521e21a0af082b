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
