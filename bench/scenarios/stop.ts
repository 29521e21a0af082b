import {equal, rejects} from 'node:assert/strict';
import {InMemoryRunner, LlmAgent, StreamingMode} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {chunks, GeminiServer} from 'sluice/testing';
import {quantile} from '../measure.ts';
import {atMost, type Data, type Scenario} from '../scenario.ts';

const STOPS = 200;

export const stop: Scenario = {
  question: `From a stop to the closed socket, as the server sees it, mid stream on loopback (wall ms, ${STOPS} stops of each kind)`,
  subjects: ['fetch', 'sluice'],
  figures: [
    {label: 'abortSignal, half of the stops', key: 'abort50'},
    {label: '95 %', key: 'abort95', budgets: [atMost(20, 'abort95')]},
    {label: 'the reader leaves, half of the stops', key: 'leave50'},
    {label: '95 %', key: 'leave95', budgets: [atMost(20, 'leave95')]},
  ],
  async measure(name): Promise<Data> {
    await using server = await GeminiServer.start();
    const open = name === 'fetch' ? fetching(server) : running(server);
    const abort = await stopTimes(server, open, 'abort');
    const leave = await stopTimes(server, open, 'leave');
    return {abort50: quantile(abort, 0.5), abort95: quantile(abort, 0.95), leave50: quantile(leave, 0.5), leave95: quantile(leave, 0.95)};
  },
};

/** A request of which one chunk has been read and no other comes. */
interface Stalled {
  stop(how: 'abort' | 'leave'): Promise<void>;
}

async function stopTimes(server: GeminiServer, open: () => Promise<Stalled>, how: 'abort' | 'leave'): Promise<number[]> {
  const times: number[] = [];
  for (let count = -20; count < STOPS; count++) {
    server.reply(chunks(['It', ' rains'], {fault: {kind: 'stall', after: 1}}));
    const stalled = await open();
    const request = await server.nextRequest();
    const start = performance.now();
    const closed = request.closed.then(({early}) => {
      equal(early, true);
      return performance.now() - start;
    });
    await stalled.stop(how);
    const time = await closed;
    if (count >= 0) times.push(time);
  }
  return times;
}

function running({url}: GeminiServer): () => Promise<Stalled> {
  const model = new Gemini({model: 'gemini-2.5-flash', apiKey: 'key', httpOptions: {baseUrl: url}});
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'bench', model}), runConfig: {streamingMode: StreamingMode.SSE}});
  return async () => {
    const controller = new AbortController();
    const run = runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Rain?'}]}, abortSignal: controller.signal});
    const first = await run.next();
    equal(first.value?.content?.parts?.[0]?.text, 'It');
    return {
      async stop(how) {
        if (how === 'leave') return void (await run.return());
        const reason = new Error('stop');
        const pending = run.next();
        controller.abort(reason);
        await rejects(pending, reason);
      },
    };
  };
}

/** What is possible: a bare `fetch` of the same stream. */
function fetching({url}: GeminiServer): () => Promise<Stalled> {
  return async () => {
    const controller = new AbortController();
    const response = await fetch(`${url}/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse`, {
      method: 'POST',
      headers: {'content-type': 'application/json', 'x-goog-api-key': 'key'},
      body: JSON.stringify({contents: [{role: 'user', parts: [{text: 'Rain?'}]}]}),
      signal: controller.signal,
    });
    const reader = response.body?.getReader();
    const first = await reader?.read();
    equal(first?.done, false);
    return {
      async stop(how) {
        if (how === 'leave') return reader?.cancel();
        const pending = reader?.read();
        controller.abort();
        await rejects(async () => pending);
      },
    };
  };
}
