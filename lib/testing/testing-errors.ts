import {SluiceError} from '../errors.ts';

/** A scripted double and what used it do not fit: the script ran out, or was not used up. */
export class ScriptError extends SluiceError {
  readonly code: 'SCRIPT_EXHAUSTED' | 'SCRIPT_UNUSED';

  constructor(code: 'SCRIPT_EXHAUSTED' | 'SCRIPT_UNUSED', message: string) {
    super(message);
    this.code = code;
  }
}

/** A loop did not survive its replay: it took another way the second time, or a step's result is more than JSON can hold. */
export class ReplayError extends SluiceError {
  readonly code: 'REPLAY_DIVERGED' | 'REPLAY_NOT_PLAIN';

  constructor(code: 'REPLAY_DIVERGED' | 'REPLAY_NOT_PLAIN', message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
