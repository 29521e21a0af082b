import {FunctionTool} from './function-tool.ts';

/**
 * Lets the model leave the loop that its agent runs in: a call sets `actions.escalate`, and the agent says nothing more.
 *
 * @example
 * ```ts
 * import {EXIT_LOOP, LlmAgent} from 'sluice';
 *
 * const critic = new LlmAgent({
 *   name: 'critic',
 *   model: 'gemini-2.5-flash',
 *   instruction: 'Say what to improve in the draft. Where there is nothing, call exit_loop.',
 *   tools: [EXIT_LOOP],
 * });
 * ```
 */
export class ExitLoopTool extends FunctionTool {
  constructor() {
    super({
      name: 'exit_loop',
      description: 'Ends the loop. Call it only when your instructions say that the work is done.',
      execute: (_args, {actions}) => {
        actions.escalate = true;
        actions.skipSummarization = true;
        return '';
      },
    });
  }
}

/** The {@link ExitLoopTool}; one serves all agents. */
export const EXIT_LOOP: ExitLoopTool = /* @__PURE__ */ new ExitLoopTool();
