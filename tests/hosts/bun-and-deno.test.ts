// The built package on Bun and Deno: their own binaries, real sockets, nothing loaded from elsewhere.
import {once} from 'node:events';
import {stringifyContent, type Event} from 'sluice';
import {answer, chunks, GeminiLiveServer, GeminiServer, type GeminiReply} from 'sluice/testing';
import {afterAll, beforeAll, describe, expect, test} from 'vitest';
import {WebSocket} from 'ws';
import {Client, eventsOf} from './client.ts';
import {HostProcess, runtimes} from './host-process.ts';
import {linkedFolder} from './linked.ts';
import {expected} from './programs/core-loop.ts';

const stalled = (): GeminiReply => chunks(['one', ' two'], {fault: {kind: 'stall', after: 1}});

let folder: Awaited<ReturnType<typeof linkedFolder>>;
beforeAll(async () => {
  folder = await linkedFolder();
});
afterAll(() => folder[Symbol.asyncDispose]());

describe.each(runtimes)('on $name', (runtime) => {
  const start = (program: string, ...args: readonly string[]): HostProcess => new HostProcess(runtime, folder.path, program, ...args);

  test('runs go to their end, are left and are aborted as on Node, and hold nothing', async () => {
    await using host = start('run-core-loop.ts');
    expect(await host.rest()).toEqual({code: 0, lines: expected});
  });

  describe.each(['native.ts', 'listen.ts'])('a handler, served by %s', (program) => {
    test('answers, and streams a run', async () => {
      await using gemini = await GeminiServer.start({replies: [chunks(['one', ' two']), answer('three')]});
      await using host = start(program, gemini.url);
      const client = new Client(await host.line());
      const streamed: Event[] = [];
      for await (const event of eventsOf(await client.run('run_sse', 's'))) streamed.push(event);
      expect(streamed.map(stringifyContent)).toEqual(['one', ' two', 'one two']);
      const whole = (await (await client.run('run', 's')).json()) as Event[];
      expect(whole.map(stringifyContent)).toEqual(['three']);
    });

    test('ends a run whose client leaves in mid stream: the socket to the model closes, the session is stored', async () => {
      await using gemini = await GeminiServer.start({replies: [stalled(), answer('Here.')]});
      await using host = start(program, gemini.url);
      const client = new Client(await host.line());
      const leave = new AbortController();
      const events = eventsOf(await client.run('run_sse', 's', leave.signal));
      expect(stringifyContent((await events.next()).value as Event)).toBe('one');
      leave.abort();
      expect((await gemini.requests[0]?.closed)?.early).toBe(true);
      // It waits until the run before has stored all of it.
      await (await client.run('run', 's')).json();
      expect(await client.stored('s')).toEqual([
        ['user', 'Go.', undefined],
        ['root', 'one', true],
        ['user', 'Go.', undefined],
        ['root', 'Here.', undefined],
      ]);
    });

    test('ends a run whose client leaves before there is an answer', async () => {
      await using gemini = await GeminiServer.start({replies: [stalled()]});
      await using host = start(program, gemini.url);
      const client = new Client(await host.line());
      const leave = new AbortController();
      const run = client.run('run', 's', leave.signal).catch((error: unknown) => error);
      const request = await gemini.nextRequest();
      leave.abort();
      expect((await request.closed).early).toBe(true);
      expect(await run).toMatchObject({name: 'AbortError'});
    });

    test('drains on SIGTERM: the run under way is told to its end, and the process ends with 0', async () => {
      const rest = Promise.withResolvers<string>();
      await using gemini = await GeminiServer.start({replies: [chunks(['one', rest.promise])]});
      await using host = start(program, gemini.url);
      const client = new Client(await host.line());
      const events = eventsOf(await client.run('run_sse', 's'));
      await events.next();
      host.kill('SIGTERM');
      await refused(client.url);
      rest.resolve(' two');
      const texts: string[] = [];
      for await (const event of events) if (!event.partial) texts.push(stringifyContent(event));
      expect(texts).toEqual(['one two']);
      expect((await host.rest()).code).toBe(0);
    });
  });

  // Bun upgrades requests by its server, and a handler is only given the request: its WebSockets are those of `sluice/node`.
  test.each(runtime.name === 'bun' ? ['listen.ts'] : ['native.ts', 'listen.ts'])(
    'a live run goes over a WebSocket, served by %s',
    async (program) => {
      await using api = await GeminiLiveServer.start({noise: false});
      await using host = start(program, api.url);
      const {url} = new Client(await host.line());
      await fetch(`${url}/apps/live/users/u/sessions/s`, {method: 'POST'});
      const client = new WebSocket(`${url.replace('http', 'ws')}/run_live?app_name=live&user_id=u&session_id=s`);
      client.once('open', () => client.send(JSON.stringify({content: {role: 'user', parts: [{text: 'Hello'}]}})));
      const session = await api.nextSession();
      await session.message('clientContent');
      session.say('Good day.');
      const [data] = (await once(client, 'message')) as [Buffer];
      expect(stringifyContent(JSON.parse(data.toString()) as Event)).toBe('Good day.');
      client.terminate();
      expect((await session.closed).early).toBe(true);
    },
  );
});

/** Resolves when nobody is let in any more: the drain has begun. */
async function refused(url: string): Promise<void> {
  for (let open = true; open;) {
    open = await fetch(`${url}/health`, {headers: {connection: 'close'}}).then(
      ({status}) => status === 200,
      () => false,
    );
  }
}
