import pLimit from 'p-limit';
import {describe, expect, test} from 'vitest';

import {ModelError} from '../../lib/errors.ts';
import {Gemini} from '../../lib/gemini/index.ts';
import type {LlmRequest} from '../../lib/models/llm-request.ts';
import type {LlmResponse} from '../../lib/models/llm-response.ts';
import {chunkings, expectedOutcome, loadRecordings, outcomeOf, type Recording, serveRecordings, spoiledBySdk} from './recordings.ts';

const recordings = loadRecordings();

describe.skipIf(recordings.length === 0)('recorded traffic', () => {
  test.each(Object.keys(chunkings))(
    'every recording comes out as recorded when its body is served %s',
    {timeout: 180_000},
    async (chunking) => {
      await using server = await serveRecordings(recordings);
      const models = {
        gemini: new Gemini({model: 'm', apiKey: 'k', attempts: 1}),
        vertex: new Gemini({model: 'm', vertexai: true, apiKey: 'k', attempts: 1}),
      };
      const limit = pLimit(24);
      const wrong: unknown[] = [];

      await Promise.all(
        recordings.map((recording) =>
          limit(async () => {
            const {partials, result} = await play(models[recording.backend], recording, server.baseUrl(recording, chunking));
            const [came, wanted] = [outcomeOf(result, recording), expectedOutcome(recording)];
            if (spoiledBySdk[recording.id] !== undefined) expect(result).toBeInstanceOf(ModelError);
            else if (!same(came, wanted)) wrong.push({id: recording.id, came, wanted});
            if (!(result instanceof ModelError) && recording.api === 'streamGenerateContent') {
              expect(deltas(partials)).toEqual(deltas([result]));
            } else if (recording.api === 'generateContent') expect(partials).toEqual([]);
          }),
        ),
      );

      expect(wrong).toEqual([]);
      expect(limit.activeCount).toBe(0);
    },
  );
});

async function play(
  model: Gemini,
  recording: Recording,
  baseUrl: string,
): Promise<{partials: LlmResponse[]; result: LlmResponse | ModelError}> {
  const request: LlmRequest = {contents: [{role: 'user', parts: [{text: 'hi'}]}], config: {httpOptions: {baseUrl}}};
  const partials: LlmResponse[] = [];
  try {
    for await (const response of model.generateContentAsync(request, recording.api === 'streamGenerateContent')) {
      if (!response.partial) return {partials, result: response};
      partials.push(response);
    }
  } catch (error) {
    if (error instanceof ModelError) return {partials, result: error};
    throw error;
  }
  throw new Error('no whole response');
}

/** The text of a list of responses, and how many calls they begin. */
function deltas(responses: readonly LlmResponse[]): unknown {
  const parts = responses.flatMap(({content}) => content?.parts ?? []);
  return {
    text: parts.map((part) => (part.thought ? '' : (part.text ?? ''))).join(''),
    thoughts: parts.map((part) => (part.thought ? (part.text ?? '') : '')).join(''),
    calls: parts.flatMap((part) => part.functionCall?.name ?? []),
    signatures: parts.flatMap((part) => part.thoughtSignature ?? []),
  };
}

function same(left: unknown, right: unknown): boolean {
  try {
    expect(left).toEqual(right);
    return true;
  } catch {
    return false;
  }
}
