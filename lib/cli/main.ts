#!/usr/bin/env node
import {CliError, ExitCode, UsageError} from './cli-error.ts';
import {parseArguments, unknown, type OptionsFor} from './command-line.ts';
import {messageOf} from '../errors.ts';
import {HELP} from './help.ts';
import {Interrupts} from './interrupts.ts';
import {flushed} from './output.ts';
import {run} from './run.ts';
import {serve} from './serve.ts';
import {version} from './version.ts';

/** Each resolves with the exit code. */
const COMMANDS: Readonly<Record<string, (args: readonly string[], interrupts: Interrupts) => Promise<number>>> = {run, serve};

const OPTIONS: OptionsFor<{help?: true; version?: true}> = {
  help: {type: 'boolean', short: 'h', about: 'print this'},
  version: {type: 'boolean', short: 'V', about: 'print the version'},
};

/** Runs the command line to its end; resolves with the exit code. */
async function main(args: readonly string[], interrupts: Interrupts): Promise<number> {
  const [name, ...rest] = args;
  if (name !== undefined && Object.hasOwn(COMMANDS, name)) return (await COMMANDS[name]?.(rest, interrupts)) ?? ExitCode.DONE;
  if (name === 'help') return await main([...rest, '--help'], interrupts);
  if (name !== undefined && !name.startsWith('-')) throw new UsageError(unknown('command', name, Object.keys(COMMANDS)));
  const {values} = parseArguments(undefined, args, OPTIONS);
  if (values.help) process.stdout.write(HELP);
  else if (values.version) process.stdout.write(`${version()}\n`);
  else throw new UsageError(`Expected a command: ${Object.keys(COMMANDS).join(' or ')}`);
  return ExitCode.DONE;
}

/** Tells why the program failed: an error of the command line with a way to learn more, and never a stack of its own. */
function report(error: unknown): number {
  process.stderr.write(`sluice: ${messageOf(error)}\n`);
  if (error instanceof UsageError) {
    process.stderr.write(`Try: ${['sluice', ...(error.command ? [error.command] : []), '--help'].join(' ')}\n`);
  }
  return error instanceof CliError ? error.exitCode : ExitCode.FAILED;
}

// Without a listener, a reader that leaves (`| head -1`) would be an uncaught error.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => {});
const interrupts = new Interrupts();
const exitCode = await main(process.argv.slice(2), interrupts).catch(report);
await flushed(interrupts.leave);
// What an agent's module holds open, such as a pool of connections, must not hold the program.
process.exit(exitCode === ExitCode.DONE ? (interrupts.exitCode ?? exitCode) : exitCode);
