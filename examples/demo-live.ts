// The demo of live runs: `npm run demo:live`. What it shows is in demo-live/show.ts; the agent that it shows is in demo-live/concierge.ts.
import {runDemo} from './demo/command-line.ts';

const usage = `Usage: node examples/demo-live.ts [options]

A spoken conversation over a real WebSocket, with tools over real HTTP: the
Events as they stream, an interruption, a call that is taken back, a server that
goes away, and what is left when a run is stopped. It needs no key and no
network: a server of the Live API runs on this machine.

  --live          talk to the real Live API, in writing, and show the first part
                  and the last; needs GEMINI_API_KEY
  --model <name>  the model (default: gemini-3.1-flash-live-preview)
  -h, --help      this text

Build first (npm run build), or run both with: npm run demo:live`;

await runDemo({
  usage,
  title: 'a spoken conversation over a real WebSocket',
  model: 'gemini-3.1-flash-live-preview',
  load: async () => (await import('./demo-live/show.ts')).show,
});
