import {createRequire} from 'node:module';
import {dirname} from 'node:path';
import {fileURLToPath, pathToFileURL} from 'node:url';
import {BaseAgent} from '../agents/base-agent.ts';
import {describe} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {shownPath, type AgentFile} from './agent-files.ts';
import {CliError} from './cli-error.ts';
import {loadEnvFiles} from './env-file.ts';
import {importFailure, neverLoaded} from './import-failure.ts';

/**
 * The agent that a file exports as `rootAgent`, or by default. The `.env` files next to it and in the working directory are read first.
 *
 * @throws {@link CliError} where the file cannot be loaded or exports none
 */
export async function loadAgent({file}: AgentFile): Promise<BaseAgent> {
  const exported = await load(file);
  const agent = agentIn(exported);
  if (agent instanceof BaseAgent) return agent;
  throw new CliError(`${shownPath(file)} ${refusal(file, agent, exported)}`);
}

/** As `loadAgent`, but `undefined` for a file that has neither export: a folder of agents may hold other modules too. */
export async function loadAgentIfAny(agentFile: AgentFile): Promise<BaseAgent | undefined> {
  return agentIn(await load(agentFile.file)) === undefined ? undefined : await loadAgent(agentFile);
}

/** A module is loaded once, however often it is asked for. */
async function load(file: string): Promise<Readonly<Record<string, unknown>>> {
  loadEnvFiles(dirname(file));
  return await new Promise((resolve, reject) => {
    // An await at the top level of a module holds no process: Node would end here, with a code and a message of its own.
    const giveUp = (): void => reject(neverLoaded(file));
    process.once('beforeExit', giveUp);
    import(pathToFileURL(file).href)
      .then(resolve, (error: unknown) => reject(importFailure(file, error)))
      .finally(() => process.off('beforeExit', giveUp));
  });
}

function agentIn(exported: Readonly<Record<string, unknown>>): unknown {
  return exported['rootAgent'] ?? exported['default'];
}

function refusal(file: string, agent: unknown, exported: Readonly<Record<string, unknown>>): string {
  if (looksLikeAgent(agent)) return `exports an agent of ${strangerTo(file)}`;
  const how = 'export the agent as `rootAgent`, or by default';
  if (agent !== undefined) return `exports ${describe(agent)} where an agent was expected: ${how}`;
  const names = Object.keys(exported);
  const found = names.find((name) => exported[name] instanceof BaseAgent);
  if (found !== undefined) return `exports the agent \`${found}\` under that name only: ${how}`;
  return names.length === 0 ? `exports nothing: ${how}` : `exports no agent (only ${names.join(', ')}): ${how}`;
}

/** An agent of another copy of Sluice, or of another kit with the same names, is none of ours. */
function looksLikeAgent(value: unknown): boolean {
  return isRecord(value) && typeof value['name'] === 'string' && typeof value['runAsync'] === 'function';
}

function strangerTo(file: string): string {
  const own = fileURLToPath(new URL('../..', import.meta.url));
  let other: string | undefined;
  try {
    other = dirname(createRequire(file).resolve('sluice/package.json'));
  } catch {
    // It imports another package, or none that can be found from here.
  }
  if (other === undefined || `${other}/` === own) return `another package: extend the agents of 'sluice'`;
  return `another copy of sluice, in ${other}, while this command is that in ${own}: run \`npx sluice\` in the agent's own project`;
}
