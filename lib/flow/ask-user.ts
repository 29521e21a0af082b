import type {Context} from '../context/context.ts';
import type {BaseTool} from '../tools/base-tool.ts';

/** A call that the user of the app may have to be asked about. */
export interface AskedCall {
  readonly tool: BaseTool;
  readonly args: Record<string, unknown>;
  readonly context: Context;
}

/** The response that takes the place of the call's own: it waits for the user's word, or was refused. Nothing where it may run. */
export async function askUser({tool, args, context}: AskedCall): Promise<Record<string, unknown> | undefined> {
  const {name, requireConfirmation: asks} = tool;
  if (context.toolConfirmation) return context.toolConfirmation.confirmed ? undefined : {error: 'The user refused this call'};
  // Of a function, only its `false` counts as one: a `return` that was forgotten must not let a call run.
  const asked: unknown = typeof asks === 'function' ? await asks(args as never, context) : asks;
  if (asked === false) return undefined;
  context.requestConfirmation({hint: `Confirm the call of ${name}.`});
  return {status: 'pending'};
}
