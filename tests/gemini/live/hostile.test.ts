import * as fc from 'fast-check';
import {expect, test} from 'vitest';

import {toLlmResponse} from '../../../lib/gemini/live/server-message.ts';
import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {liveModelAt, readToEnd, silent} from './connecting.ts';

const known = [
  'setupComplete',
  'serverContent',
  'modelTurn',
  'parts',
  'text',
  'functionCall',
  'functionCalls',
  'toolCall',
  'toolCallCancellation',
  'ids',
  'goAway',
  'sessionResumptionUpdate',
  'sessionId',
  'usageMetadata',
  'responseTokenCount',
  'inputTranscription',
  'outputTranscription',
  'groundingMetadata',
  'turnComplete',
  'turnCompleteReason',
  'interrupted',
  'generationComplete',
  '__proto__',
];

/** JSON that is made of the words of the protocol, and hardly ever follows it. */
const {message} = fc.letrec<{value: unknown; message: Record<string, unknown>}>((tie) => ({
  value: fc.oneof({maxDepth: 4}, fc.constantFrom(null, true, false, 0, 7, '', 'a'), fc.array(tie('value'), {maxLength: 3}), tie('message')),
  message: fc.dictionary(fc.constantFrom(...known), tie('value'), {maxKeys: 6}).map((entries) => ({...entries})),
}));

test('no message breaks what is made of it, and what is made of it is JSON', () => {
  fc.assert(
    fc.property(message, (sent) => {
      const parsed = JSON.parse(JSON.stringify(sent)) as object;
      const before = JSON.stringify(parsed);
      const response = toLlmResponse(parsed);
      expect(JSON.stringify(parsed)).toBe(before);
      if (response === undefined) return;
      expect(Object.keys(response)).not.toEqual([]);
      expect(JSON.parse(JSON.stringify(response))).toEqual(response);
    }),
    {numRuns: 2_000},
  );
});

test('no message breaks a connection', async () => {
  const messages = fc.sample(message, 500);
  await using server = await GeminiLiveServer.start({noise: false});
  server.session(async (session) => {
    await session.acknowledge();
    for (const sent of messages) session.sendRaw(JSON.stringify(sent));
    session.close(1000, 'all sent');
  });
  await using connection = await liveModelAt(server).connect(silent);
  expect((await readToEnd(connection)).error).toMatchObject({closeCode: 1000, message: 'all sent'});
});
