import {describe, expect, test} from 'vitest';

import {GeminiLiveServer, recording} from '../../../lib/testing/index.ts';
import {liveModelAt, readToEnd, silent, vertexModelAt} from './connecting.ts';
import {expectedOutcome, loadLiveRecordings, outcomeOf, sendAgain} from './live-recordings.ts';

const recordings = loadLiveRecordings();

describe.skipIf(recordings.length === 0)('a recorded session', () => {
  test.each(recordings.map((recorded) => [recorded.id, recorded] as const))('%s comes out as recorded', async (_, recorded) => {
    await using server = await GeminiLiveServer.start({strict: false});
    server.session(async (session) => {
      const play = recording(recorded.messages);
      if (typeof play === 'function') await play(session);
      session.close(1000, 'played');
    });
    const model = recorded.backend === 'gemini' ? liveModelAt(server) : vertexModelAt(server);
    await using connection = await model.connect(silent);
    const reading = readToEnd(connection);
    await sendAgain(connection, recorded.messages);

    const {responses, error} = await reading;

    expect(error).toMatchObject({closeCode: 1000, message: 'played'});
    expect(outcomeOf(responses)).toEqual(expectedOutcome(recorded));
    const sessionId = recorded.messages.map(([, message]) => message['setupComplete'] as {sessionId?: string} | undefined).find(Boolean);
    expect(responses[0]?.liveSessionId).toBe(sessionId?.sessionId);
  });
});
