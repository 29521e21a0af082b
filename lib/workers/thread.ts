/**
 * What a pool's thread runs. It stands in a file of its own, beside the built entry, since a thread is started with a file.
 *
 * @module
 */
import {workerData} from 'node:worker_threads';
import type {ThreadData, ToThread} from './messages.ts';
import {guardThread} from './run-guard.ts';
import {ThreadCall} from './thread-call.ts';

const {pool} = workerData as ThreadData;
// Bodies see the same object, and the port is not theirs.
delete (workerData as {pool?: unknown}).pool;

function tellReady(): void {
  // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a port has none
  pool.postMessage('ready');
}

guardThread();
pool.on('message', (message: ToThread) => {
  if (message.kind === 'ask') tellReady();
  else void new ThreadCall(message.port, message.task).run();
});
tellReady();
