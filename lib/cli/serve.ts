import type {BaseAgent} from '../agents/base-agent.ts';
import {messageOf} from '../errors.ts';
import {isHostname} from '../node/allowed-hosts.ts';
import type {ListenOptions} from '../node/listen-options.ts';
import {listen, type Listener} from '../node/listen.ts';
import {isRecord} from '../schema/is-record.ts';
import {createHandler} from '../serve/create-handler.ts';
import type {Handler} from '../serve/handler.ts';
import {agentFilesAt, shownPath} from './agent-files.ts';
import {CliError, ExitCode, UsageError} from './cli-error.ts';
import {parseArguments} from './command-line.ts';
import {loadAgent, loadAgentIfAny} from './load-agent.ts';
import {SERVE_HELP, SERVE_OPTIONS, type ServeValues} from './serve-help.ts';

/**
 * `sluice serve`: agents over HTTP, until a signal ends it. Resolves with the exit code.
 *
 * @throws {@link CliError} where it cannot start
 */
export async function serve(args: readonly string[]): Promise<number> {
  const {values, positionals} = parseArguments('serve', args, SERVE_OPTIONS);
  if (values.help) {
    process.stdout.write(SERVE_HELP);
    return ExitCode.DONE;
  }
  const [path, ...more] = positionals;
  if (path === undefined) throw new UsageError('Expected a folder of agents, or the file of one', 'serve');
  if (more.length > 0) throw new UsageError(`Expected one folder or file, got also: ${more.join(' ')}`, 'serve');
  const place = {port: portOf(values), hostname: values.host ?? '127.0.0.1', allowedHosts: allowedHostsOf(values)};
  const options = {cors: corsOf(values), onDisconnect: onDisconnectOf(values)};
  const agents = await loadAgents(path);
  const listener = await startListening(createHandler({agents, ...options}), place);
  process.stdout.write(`Serving ${Object.keys(agents).join(', ')} on ${listener.url}\n`);
  await listener.closed;
  // Not a second closing: how the first one went.
  await listener.close();
  return ExitCode.DONE;
}

/** Every agent at a path, by the name of its app. One that fails to load fails the start: who serves it should know at once. */
async function loadAgents(path: string): Promise<Record<string, BaseAgent>> {
  const files = agentFilesAt(path);
  const agents: Record<string, BaseAgent> = {};
  for (const file of files) {
    const agent = files.length === 1 ? await loadAgent(file) : await loadAgentIfAny(file);
    if (agent) agents[file.name] = agent;
    else process.stderr.write(`sluice: passed over ${shownPath(file.file)}: no rootAgent, and no default export\n`);
  }
  if (Object.keys(agents).length === 0) {
    throw new CliError(`No agent in ${path}: expected files (weather.ts) or folders (weather/agent.ts) that export a \`rootAgent\``);
  }
  return agents;
}

async function startListening(handler: Handler, options: ListenOptions): Promise<Listener> {
  try {
    return await listen(handler, options);
  } catch (error) {
    const {port, hostname} = options;
    const inUse = isRecord(error) && error['code'] === 'EADDRINUSE';
    const why = inUse ? 'it is in use: choose another with --port (0: any that is free)' : messageOf(error);
    throw new CliError(`Cannot listen on port ${port} of ${hostname}: ${why}`, {cause: error});
  }
}

function portOf({port = '8000'}: ServeValues): number {
  if (/^\d{1,5}$/.test(port) && Number(port) <= 65_535) return Number(port);
  throw new UsageError(`--port must be a whole number from 0 to 65535, got ${port}`, 'serve');
}

function allowedHostsOf({'allowed-hosts': value}: ServeValues): '*' | string[] | undefined {
  if (value === undefined || value === '*') return value;
  const names = value.split(',').map((name) => name.trim());
  const wrong = names.find((name) => !isHostname(name));
  if (wrong === undefined) return names;
  throw new UsageError(`--allowed-hosts must be * or names without a port, such as agents.example, got ${wrong || value}`, 'serve');
}

function corsOf({cors}: ServeValues): '*' | string[] | undefined {
  if (cors === undefined || cors === '*') return cors;
  const origins = cors.split(',').map((origin) => origin.trim());
  const wrong = origins.find((origin) => !URL.canParse(origin) || new URL(origin).origin !== origin);
  if (wrong === undefined) return origins;
  const near = URL.canParse(wrong) && new URL(wrong).origin !== 'null' ? `, such as ${new URL(wrong).origin}` : ': https://app.example';
  throw new UsageError(`--cors must be * or origins${near}, got ${wrong}`, 'serve');
}

function onDisconnectOf({'on-disconnect': value}: ServeValues): 'abort' | 'continue' | undefined {
  if (value === undefined || value === 'abort' || value === 'continue') return value;
  throw new UsageError(`--on-disconnect must be abort or continue, got ${value}`, 'serve');
}
