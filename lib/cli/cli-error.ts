/** What every way of ending the program tells its caller. */
export const ExitCode = {
  DONE: 0,
  FAILED: 1,
  USAGE: 2,
  HANGUP: 129,
  INTERRUPTED: 130,
  TERMINATED: 143,
} as const;

/** Something that the user of the command line is told in a sentence, without a stack. */
export class CliError extends Error {
  readonly exitCode: number = ExitCode.FAILED;
}

/** The command line itself cannot be understood. */
export class UsageError extends CliError {
  override readonly exitCode: number = ExitCode.USAGE;
  /** The command whose `--help` tells more; `undefined`: that of the program. */
  readonly command: string | undefined;

  constructor(message: string, command?: string) {
    super(message);
    this.command = command;
  }
}
