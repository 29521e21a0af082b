/** Recorded Live sessions, played by the server to a client that says what the recorded one said. The data lies beside the project. */
import {existsSync, readFileSync} from 'node:fs';
import {describe, expect, test} from 'vitest';
import {GeminiLiveServer, recording, type LiveRecordedMessage} from '../../lib/testing/index.ts';
import {dial, geminiPath, nextMessage, roundTrip, setup, vertexPath} from './live-client.ts';

interface LiveRecording {
  readonly id: string;
  readonly backend: 'gemini' | 'vertex';
  readonly messages: readonly LiveRecordedMessage[];
}

/** All recorded sessions; none, and a loud line, where the folder is missing. */
function loadLiveRecordings(): readonly LiveRecording[] {
  const file = new URL('../../../shared/recordings/live.jsonl', import.meta.url);
  if (!existsSync(file)) {
    console.warn(
      '\n*** SKIPPED: there is no `../shared/recordings/live.jsonl` beside the project, so no recorded session was played ***\n',
    );
    return [];
  }
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => JSON.parse(line) as LiveRecording);
}

/** In these the client answers a call that nobody made, and the recording ends there: whether Google closed is not known. */
const answersOutOfTheBlue = new Set(['js-genai/live_ML_Dev_should_send_tool_response_with_function_responses.websocket.log']);

const recordings = loadLiveRecordings();
const isSetup = ([from, message]: LiveRecordedMessage): boolean => from === '>' && 'setup' in message;
const isSetupComplete = ([from, message]: LiveRecordedMessage): boolean => from === '<' && 'setupComplete' in message;

describe.skipIf(recordings.length === 0)('recorded sessions', () => {
  test('come out as recorded, and hold nothing that the server refuses', async () => {
    await using server = await GeminiLiveServer.start();
    const refused: unknown[] = [];
    for (const {id, backend, messages} of recordings) {
      server.session(recording(messages));
      const client = await dial(server, {path: backend === 'vertex' ? vertexPath : geminiPath});
      client.send(messages.find(isSetup)?.[1] ?? setup);
      const got: unknown[] = [await nextMessage(client)];
      for (const [from, message] of messages.filter((each) => !isSetup(each) && !isSetupComplete(each))) {
        if (from === '>') client.send(message);
        else got.push(Object.keys(message).length > 0 ? await nextMessage(client) : message);
      }
      const said = messages.filter(([from]) => from === '>').length;
      await expect.poll(() => client.session.received.length).toBe(Math.max(said, 1));
      if (client.session.refusal) refused.push([id, client.session.refusal.code]);
      const recorded = messages
        .filter(([from]) => from === '<')
        .toSorted((a, b) => Number(isSetupComplete(b)) - Number(isSetupComplete(a)));
      expect([id, got]).toEqual([id, recorded.map(([, message]) => message)]);
      client.webSocket.terminate();
    }
    expect(refused).toEqual([...answersOutOfTheBlue].map((id) => [id, 1008]));
    expect(server.sessions.map(({scriptError}) => scriptError).filter(Boolean)).toEqual([]);
    expect(recordings.length).toBeGreaterThan(40);
  });
});

describe('recording()', () => {
  const said = (text: string): Readonly<Record<string, unknown>> => ({serverContent: {modelTurn: {parts: [{text}]}}});
  const messages: readonly LiveRecordedMessage[] = [
    ['>', setup],
    ['<', {setupComplete: {sessionId: 's'}}],
    ['>', {client_content: {turnComplete: true}}],
    ['<', said('a')],
    ['<', said('b')],
    ['>', {realtimeInput: {text: 'x'}}],
    ['<', said('c')],
  ];

  test('waits for messages of the same kind in their order, and minds no other', async () => {
    await using server = await GeminiLiveServer.start({noise: false, sessions: [recording(messages)]});
    const client = await dial(server);
    client.send(setup);
    expect(await nextMessage(client)).toEqual({setupComplete: {sessionId: 's'}});
    // One before its turn comes, and some that were not recorded.
    client.send({realtimeInput: {text: 'early'}});
    client.send({contextUpdate: {}});
    client.send({});
    await roundTrip(server);
    expect([client.session.received.length, client.frames.length]).toEqual([4, 1]);
    client.send({clientContent: {}});
    expect([await nextMessage(client), await nextMessage(client), await nextMessage(client)]).toEqual([said('a'), said('b'), said('c')]);
    client.send({clientContent: {}});
    await client.session.message('clientContent', 1);
    expect(client.session.received.map(({kind}) => kind)).toEqual([
      'setup',
      'realtimeInput',
      'contextUpdate',
      'unknown',
      'clientContent',
      'clientContent',
    ]);
    expect(client.session.isClosed).toBe(false);
  });

  test('acknowledges a setup where the recording holds none, or holds it late', async () => {
    await using server = await GeminiLiveServer.start({noise: false});
    const late: readonly LiveRecordedMessage[] = [
      ['>', setup],
      ['>', {realtimeInput: {}}],
      ['<', {setupComplete: {}}],
      ['<', said('a')],
    ];
    server.session(recording([['<', said('a')]]));
    server.session(recording(late));
    const client = await dial(server);
    client.send(setup);
    expect([await nextMessage(client), await nextMessage(client)]).toEqual([{setupComplete: {}}, said('a')]);
    const other = await dial(server);
    other.send(setup);
    expect(await nextMessage(other)).toEqual({setupComplete: {}});
    other.send({realtimeInput: {}});
    expect(await nextMessage(other)).toEqual(said('a'));
    await roundTrip(server);
    expect(other.frames).toHaveLength(2);
  });
});
