import {BuiltInTool} from './built-in-tool.ts';

/**
 * Pages by their URL, read by Gemini's servers: the model opens the addresses that the conversation names.
 *
 * Gemini models before `gemini-3` refuse it together with functions: the run then ends with a `HookError` that says so.
 *
 * @example
 * ```ts
 * import {LlmAgent, URL_CONTEXT} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'reader', model: 'gemini-2.5-flash', tools: [URL_CONTEXT]});
 * ```
 */
export class UrlContextTool extends BuiltInTool {
  constructor() {
    super('url_context', 'Reads the pages whose URLs the conversation names.', {urlContext: {}});
  }
}

/** The {@link UrlContextTool}; one serves all agents. */
export const URL_CONTEXT: UrlContextTool = /* @__PURE__ */ new UrlContextTool();
