import {connect} from 'node:net';
import {Worker} from 'node:worker_threads';

/** Listens, and then never lets its event loop turn again: what connects waits in the kernel's queue, and once that is full, for ever. */
const PROGRAM = `
  const {parentPort} = require('node:worker_threads');
  const server = require('node:net').createServer().listen({port: 0, host: '127.0.0.1', backlog: 1}, () => {
    parentPort.postMessage(server.address().port);
    setImmediate(() => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0));
  });
`;

let url: Promise<string> | undefined;

/** The URL of a server to which no TCP connection comes about. */
export function fullBacklog(): Promise<string> {
  return (url ??= start());
}

async function start(): Promise<string> {
  const worker = new Worker(PROGRAM, {eval: true});
  worker.unref();
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  for (let filled = 0; filled < 2; filled++) {
    const socket = connect(port, '127.0.0.1');
    await new Promise((resolve) => socket.once('connect', resolve));
    socket.unref();
  }
  return `http://127.0.0.1:${port}`;
}
