/**
 * What a pool's thread runs. It stands in a file of its own, beside the built entry, since a thread is started with a file.
 *
 * @module
 */
import {receiveMessageOnPort, type MessagePort} from 'node:worker_threads';
import type {Task} from './messages.ts';
import {guardThread} from './run-guard.ts';
import {ThreadCall} from './thread-call.ts';

guardThread();

/** Runs one task. It has been put into the port before that came here; the outcome goes back through it. */
export async function runTask({port}: {readonly port: MessagePort}): Promise<void> {
  const received = receiveMessageOnPort(port);
  if (received) await new ThreadCall(port, received.message as Task).run();
}
