/**
 * Something that the run survived and that its owner should know. `code` says what kind, `name` whose; `message` is for people.
 */
export type Diagnostic =
  | {
      /** A tool ignored its signal; it was left behind, and what it still does goes nowhere. */
      readonly code: 'TOOL_ABANDONED';
      readonly name: string;
      readonly functionCallId: string;
      readonly message: string;
    }
  | {
      /** A model, hook, agent or store ignored the stop; it was left behind. */
      readonly code: 'WORK_ABANDONED';
      readonly name: string;
      readonly message: string;
    }
  | {
      /** While tools ran, the event loop stood still for longer than `runConfig.blockedLoopMs`. */
      readonly code: 'LOOP_BLOCKED';
      /** The tool that blocked; where that is not known, those that ran. */
      readonly name: string;
      /** For how long, in milliseconds, at least. */
      readonly blockedMs: number;
      readonly message: string;
    }
  | {
      /** Two calls of one batch, or two agents beside each other, wrote different values to one state key; the later won. */
      readonly code: 'STATE_CONFLICT';
      /** The key. */
      readonly name: string;
      /** The two calls, in call order. */
      readonly functionCallIds?: readonly [string, string];
      /** The two agents below a `ParallelAgent`, in the order in which their Events were stored. */
      readonly agents?: readonly [string, string];
      readonly message: string;
    }
  | {
      /** Something failed, or took longer than `closeTimeoutMs`, while a run or a runner was closing. */
      readonly code: 'CLOSE_FAILED';
      readonly name: string;
      readonly cause: unknown;
      readonly message: string;
    }
  | {
      /** An option that ADK knows has no effect here. */
      readonly code: 'OPTION_UNUSED';
      readonly name: string;
      readonly message: string;
    };

/** Tells of user code that was waited for and did not let go. */
export function abandonedWork(name: string): Diagnostic {
  const message = `The ${name} ignored its signal and was left behind; what it still does goes nowhere`;
  return {code: 'WORK_ABANDONED', name, message};
}

/** Tells of a tool that held up the event loop, or of those that ran while something did. */
export function blockedLoop(name: string, blockedMs: number, isKnown: boolean): Diagnostic {
  const what = isKnown ? `\`${name}\` blocked the event loop` : `While \`${name}\` ran, something blocked the event loop`;
  const message = `${what}, and every stop with it, for ${blockedMs} ms; a tool that blocks needs a \`worker\``;
  return {code: 'LOOP_BLOCKED', name, blockedMs, message};
}

/** Tells of options of a run that have no effect. */
export function unusedOption(diagnose: (diagnostic: Diagnostic) => void): (option: string) => void {
  return (option) => {
    const name = `runConfig.${option}`;
    diagnose({code: 'OPTION_UNUSED', name, message: `\`${name}\` has no effect on this run`});
  };
}
