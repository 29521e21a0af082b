import {fork, type ChildProcess} from 'node:child_process';
import {once} from 'node:events';
import {connect} from 'node:net';
import {fileURLToPath} from 'node:url';
import {expect, onTestFinished, test} from 'vitest';
import type {Event} from 'sluice';
import {expectValid} from '../stories/kit.ts';
import {saying, sseData} from './kit.ts';

/** About the longest time that a run of the server takes when all run at once, in milliseconds: clients leave within it. */
const LEAVE_WITHIN_MS = 400;

async function tell(server: ChildProcess, ...command: readonly [string, number?] | []): Promise<unknown> {
  const told = once(server, 'message');
  if (command.length > 0) server.send([...command]);
  return ((await told) as [unknown])[0];
}

/** Starts a run and reads it; one that leaves does so at a random moment. Resolves with what it has read. */
function client(port: number, sessionId: string, leaves: boolean): Promise<string> {
  return new Promise((resolve, reject) => {
    const body = JSON.stringify(saying('go', {sessionId, streaming: true}));
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('error', leaves ? () => {} : reject);
    socket.on('data', (data) => (text += String(data)));
    socket.on('close', () => resolve(text));
    socket.write(
      `POST /run_sse HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    if (leaves) setTimeout(() => (Math.random() < 0.5 ? socket.destroy() : socket.resetAndDestroy()), Math.random() * LEAVE_WITHIN_MS);
  });
}

test(
  'of a thousand clients half leave at random: no run lives on, every session is valid, and the memory is as before',
  {timeout: 90_000},
  async () => {
    const program = fileURLToPath(new URL('children/many-clients-server.ts', import.meta.url));
    const server = fork(program, {execArgv: ['--expose-gc', '--no-warnings']});
    onTestFinished(() => void server.kill());
    const {port} = (await tell(server)) as {port: number};
    const heaps: number[] = [];
    // The first round warms up what is made once.
    for (const clients of [200, 1_000]) {
      const ids = (await tell(server, 'prepare', clients)) as string[];
      const read = await Promise.all(ids.map((id, index) => client(port, id, index % 2 === 1)));
      const {kinds, open, ms} = (await tell(server, 'settle')) as {kinds: Record<string, number>; open: number; ms: number};
      expect(open).toBe(0);
      expect(ms).toBeLessThan(1_000);
      expect(Object.keys(kinds).filter((kind) => !['done', 'abort', 'return'].includes(kind))).toEqual([]);
      expect(kinds['done']).toBeGreaterThanOrEqual(clients / 2);
      expect(kinds['done']).toBeLessThan(clients);
      const lasts = read.flatMap((text, index) => (index % 2 === 0 ? [sseData(text).at(-1) as Event | undefined] : []));
      expect(lasts.filter((last) => last?.partial || !last?.content?.parts?.[0]?.text?.endsWith('piece 5 '))).toEqual([]);
      for (const events of (await tell(server, 'read')) as Event[][]) expectValid(events);
      const {connections, timers, heapUsed} = (await tell(server, 'forget')) as Record<string, number>;
      expect({connections, timers}).toEqual({connections: 0, timers: 0});
      heaps.push(heapUsed!);
    }
    // A run that is not let go of takes more than 5 kB.
    expect(heaps[1]! - heaps[0]!).toBeLessThan(3_000_000);
  },
);
