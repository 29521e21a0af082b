import {randomUUID} from 'node:crypto';
import {Console} from 'node:console';
import type {BaseAgent} from '../agents/base-agent.ts';
import {StreamingMode} from '../agents/run-config.ts';
import {InMemoryRunner} from '../runner/in-memory-runner.ts';
import type {Runner} from '../runner/runner.ts';
import {isRecord} from '../schema/is-record.ts';
import type {SessionKey} from '../sessions/session.ts';
import {agentFileAt} from './agent-files.ts';
import {chat} from './chat.ts';
import {CliError, ExitCode, UsageError} from './cli-error.ts';
import {parseArguments} from './command-line.ts';
import type {Interrupts} from './interrupts.ts';
import {lineInput, onlyInput, type Input} from './line-input.ts';
import {loadAgent} from './load-agent.ts';
import {jsonPrinter, textPrinter} from './printer.ts';
import {RUN_HELP, RUN_OPTIONS, type RunValues} from './run-help.ts';
import {Screen} from './screen.ts';
import {expectWritable, readSession, writeSession} from './session-file.ts';
import {onSignals} from './signals.ts';
import {TerminalInput} from './terminal-input.ts';

/**
 * `sluice run`: a chat with one agent. Resolves with the exit code.
 *
 * @param interrupts - get their signals once the chat begins; before, those just end the program
 * @throws {@link CliError} for what can be told before the first message
 */
export async function run(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const {values, positionals} = parseArguments('run', args, RUN_OPTIONS);
  if (values.help) {
    process.stdout.write(RUN_HELP);
    return ExitCode.DONE;
  }
  const [path, ...more] = positionals;
  if (path === undefined) throw new UsageError('Expected the file of an agent', 'run');
  if (more.length > 0) throw new UsageError(`Expected one agent, got also: ${more.join(' ')} (what to say goes to --message)`, 'run');
  if (values.interactive && values.message !== undefined) throw new UsageError('--message and --interactive exclude each other', 'run');
  const state = stateOf(values);
  // What an agent's code logs must not stand between the Events.
  if (values.json) globalThis.console = new Console(process.stderr);
  const file = agentFileAt(path);
  if (values.session !== undefined) await expectWritable(values.session);
  return await talk({agent: await loadAgent(file), appName: file.name, values, state, interrupts});
}

interface TalkOptions {
  readonly agent: BaseAgent;
  readonly appName: string;
  readonly values: RunValues;
  readonly state: Record<string, unknown> | undefined;
  readonly interrupts: Interrupts;
}

/** The chat, from the session that it begins or goes on with. */
async function talk({agent, appName, values, state, interrupts}: TalkOptions): Promise<number> {
  const {json = false, session: file, user: userId = 'user'} = values;
  const isTerminal = process.stdin.isTTY && !json && values.message === undefined;
  const isChat = isTerminal || values.interactive === true;
  const screen = new Screen(interrupts);
  if (isChat) interrupts.chat();
  onSignals(interrupts, screen);
  const runner = new InMemoryRunner({
    agent,
    appName,
    runConfig: {streamingMode: values['no-stream'] ? StreamingMode.NONE : StreamingMode.SSE},
    onDiagnostic: ({message}) => screen.note(`warning: ${message}`),
  });
  const key = {appName, userId, sessionId: randomUUID()};
  await openSession(runner, key, {file, state});
  const input = inputFor(values, isTerminal, interrupts);
  if (isTerminal) await screen.note(`${agent.name}: Ctrl-C stops an answer, Ctrl-D leaves`);
  const printer = json ? jsonPrinter(interrupts) : textPrinter(screen, agent.name);
  const keep = async (): Promise<void> => {
    if (file) await writeSession(file, runner.sessionService, key);
  };
  const succeeded = await chat({runner, key, input, printer, screen, interrupts, json, keep});
  input.close();
  await runner.close();
  return interrupts.exitCode ?? (succeeded || isChat ? ExitCode.DONE : ExitCode.FAILED);
}

interface StartOptions {
  readonly file: string | undefined;
  readonly state: Record<string, unknown> | undefined;
}

async function openSession({sessionService}: Runner, key: SessionKey, {file, state}: StartOptions): Promise<void> {
  const isStored = file !== undefined && (await readSession(file, sessionService, key));
  if (isStored && state) throw new CliError(`--state begins a new session, but ${file} holds one`);
  if (!isStored) await sessionService.createSession({...key, ...(state && {state})});
}

function inputFor(values: RunValues, isTerminal: boolean, interrupts: Interrupts): Input {
  if (values.message !== undefined) return onlyInput(values.message);
  const {leave, interrupt} = interrupts;
  if (isTerminal) {
    // Where the answers go elsewhere, the terminal is that of stderr.
    const output = process.stdout.isTTY ? process.stdout : process.stderr;
    return new TerminalInput(process.stdin, {output, leave, onInterrupt: interrupt});
  }
  const asks = values.interactive && !values.json;
  return lineInput(process.stdin, leave, asks ? (prompt) => process.stderr.write(prompt) : undefined);
}

function stateOf({state}: RunValues): Record<string, unknown> | undefined {
  if (state === undefined) return undefined;
  try {
    const value: unknown = JSON.parse(state);
    if (isRecord(value)) return value;
  } catch {
    // Said below.
  }
  throw new UsageError(`--state must be a JSON object, such as '{"city": "Paris"}', got ${state}`, 'run');
}
