// The demo: `npm run demo`. What it shows is in demo/show.ts; the agent that it shows is in demo/travel-agent.ts.
import {parseArgs} from 'node:util';

const usage = `Usage: node examples/demo.ts [options]

An agent with three tools over real HTTP: its Events as they stream, its tools
one after the other and together, and what the servers see when a run is stopped.
It needs no key and no network: a Gemini server runs on this machine.

  --live          ask the real Gemini; needs GEMINI_API_KEY
  --model <name>  the model (default: gemini-3-flash-preview)
  -h, --help      this text

Build first (npm run build), or run both with: npm run demo`;

// `| head` stops reading early, and that is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));

try {
  const {values} = parseArgs({
    options: {
      live: {type: 'boolean', default: false},
      model: {type: 'string', default: 'gemini-3-flash-preview'},
      help: {type: 'boolean', short: 'h', default: false},
    },
  });
  if (values.help) console.log(usage);
  else await run(values.model, values.live);
} catch (error) {
  console.error(`demo: ${messageOf(error)}`);
  process.exitCode = 1;
}

async function run(model: string, live: boolean): Promise<void> {
  const liveKey = live ? process.env['GEMINI_API_KEY'] : undefined;
  if (live && !liveKey) throw new Error('--live needs a key in GEMINI_API_KEY');
  // Loaded here, so that a project that is not built yet gets a message instead of a stack.
  const {show} = await import('./demo/show.ts');
  await show({model, liveKey});
}

function messageOf(error: unknown): string {
  const {code, message} = error as {code?: unknown; message?: unknown};
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')
    return `${String(message)}\nIs it built? Run: npm run build`;
  if (String(code).startsWith('ERR_PARSE_ARGS')) return `${String(message)}\n\n${usage}`;
  return String(message ?? error);
}
