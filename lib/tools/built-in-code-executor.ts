import {BuiltInTool} from './built-in-tool.ts';

/**
 * Code execution on Gemini's servers: the model writes Python and runs it there. The code and what it printed are parts of the reply,
 * `executableCode` and `codeExecutionResult`; nothing runs on this machine.
 *
 * Gemini models before `gemini-3` refuse it together with functions: the run then ends with a `HookError` that says so.
 *
 * @example
 * ```ts
 * import {BuiltInCodeExecutor, LlmAgent} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'calculator', model: 'gemini-2.5-flash', tools: [new BuiltInCodeExecutor()]});
 * ```
 */
export class BuiltInCodeExecutor extends BuiltInTool {
  constructor() {
    super('code_execution', 'Runs Python on the server of the model.', {codeExecution: {}});
  }
}
