import {messageOf} from '../errors.ts';

/** A request got no answer because of the connection. `wasSent`: the server may have acted on it. */
export class LostRequest extends Error {
  readonly wasSent: boolean;

  constructor(wasSent: boolean, cause: unknown) {
    super(messageOf(cause), {cause});
    this.wasSent = wasSent;
  }
}
