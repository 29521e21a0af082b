import type {ParametersSchema} from '../schema/parameters.ts';
import {FunctionTool, type FunctionToolOptions} from './function-tool.ts';

/**
 * A tool whose final result comes later: a person's decision, a job elsewhere. What its body returns is provisional (nothing is
 * `{status: 'pending'}`); the run ends, waiting, and a later run brings the final result as a `functionResponse` with the call's id.
 *
 * @example
 * ```ts
 * import {LongRunningFunctionTool} from 'sluice';
 * import {z} from 'zod';
 *
 * const askForApproval = new LongRunningFunctionTool({
 *   name: 'ask_for_approval',
 *   description: 'Asks a manager to approve an expense.',
 *   parameters: z.object({amount: z.number()}),
 *   execute: ({amount}, {functionCallId}) => ({status: 'pending', ticket: `${functionCallId}: ${amount}`}),
 * });
 * ```
 */
export class LongRunningFunctionTool<TSchema extends ParametersSchema | undefined = undefined> extends FunctionTool<TSchema> {
  /** @throws {@link InvalidOptionError} as `FunctionTool` does */
  constructor(options: Omit<FunctionToolOptions<TSchema>, 'isLongRunning'>) {
    super({...options, isLongRunning: true});
  }
}
