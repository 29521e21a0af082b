// The handler on `sluice/node`, which Bun and Deno run too.
import {listen} from 'sluice/node';
import {handlerFor} from './agent.ts';

const listener = await listen(handlerFor(process.argv[2] ?? ''), {port: 0, drainTimeoutMs: 60_000});
console.log(listener.url);
