// The demo: `npm run demo`. What it shows is in demo/show.ts; the agent that it shows is in demo/travel-agent.ts.
import {runDemo} from './demo/command-line.ts';

const usage = `Usage: node examples/demo.ts [options]

An agent with three tools over real HTTP: its Events as they stream, its tools
one after the other and together, and what the servers see when a run is stopped.
It needs no key and no network: a Gemini server runs on this machine.

  --live          ask the real Gemini; needs GEMINI_API_KEY
  --model <name>  the model (default: gemini-3-flash-preview)
  -h, --help      this text

Build first (npm run build), or run both with: npm run demo`;

await runDemo({
  usage,
  title: 'an agent runtime whose runs really stop',
  model: 'gemini-3-flash-preview',
  load: async () => (await import('./demo/show.ts')).show,
});
