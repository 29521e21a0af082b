import {parseArgs} from 'node:util';
import {line, paint, width, wrap} from './screen.ts';

/** What a demo's `show` gets. */
export interface DemoOptions {
  readonly model: string;
  /** A key for the real API; without one a server on this machine takes its place. */
  readonly liveKey: string | undefined;
}

/** A demo, as a program. */
export interface Demo {
  readonly usage: string;
  readonly title: string;
  readonly model: string;
  /** Loads it only now, so that a project that is not built yet gets a message instead of a stack. */
  readonly load: () => Promise<(options: DemoOptions) => Promise<void>>;
}

/** Runs a demo with the options of the command line. What goes wrong is told in a line, and by the exit code. */
export async function runDemo({usage, title, model, load}: Demo): Promise<void> {
  // `| head` stops reading early, and that is no failure.
  process.stdout.on('error', (error: NodeJS.ErrnoException) => process.exit(error.code === 'EPIPE' ? 0 : 1));
  try {
    const {values} = parseArgs({
      options: {
        live: {type: 'boolean', default: false},
        model: {type: 'string', default: model},
        help: {type: 'boolean', short: 'h', default: false},
      },
    });
    if (values.help) return console.log(usage);
    const liveKey = values.live ? process.env['GEMINI_API_KEY'] : undefined;
    if (values.live && !liveKey) throw new Error('--live needs a key in GEMINI_API_KEY');
    const show = await load();
    const startedAt = performance.now();
    line();
    line(`${paint(['bold', 'cyan'], 'Sluice')}  ${title}`);
    await show({model: values.model, liveKey});
    line();
    const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
    const ending = `Done in ${seconds} s. The process ends by itself: no timer, socket or listener is left.`;
    for (const row of wrap(ending, width)) line(paint('dim', row));
  } catch (error) {
    console.error(`demo: ${messageOf(error, usage)}`);
    process.exitCode = 1;
  }
}

function messageOf(error: unknown, usage: string): string {
  const {code, message} = error as {code?: unknown; message?: unknown};
  if (code === 'ERR_MODULE_NOT_FOUND' || code === 'ERR_PACKAGE_PATH_NOT_EXPORTED')
    return `${String(message)}\nIs it built? Run: npm run build`;
  if (String(code).startsWith('ERR_PARSE_ARGS')) return `${String(message)}\n\n${usage}`;
  return String(message ?? error);
}
