import {BuiltInTool} from './built-in-tool.ts';

/**
 * Google Search, run by Gemini's servers: the model looks up what it needs, and the Event's `groundingMetadata` has the sources.
 *
 * Gemini models before `gemini-3` refuse it together with functions: the run then ends with a `HookError` that says so.
 *
 * @example
 * ```ts
 * import {GOOGLE_SEARCH, LlmAgent} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'researcher', model: 'gemini-2.5-flash', tools: [GOOGLE_SEARCH]});
 * ```
 */
export class GoogleSearchTool extends BuiltInTool {
  constructor() {
    super('google_search', 'Searches the web with Google.', {googleSearch: {}});
  }
}

/** The {@link GoogleSearchTool}; one serves all agents. */
export const GOOGLE_SEARCH: GoogleSearchTool = /* @__PURE__ */ new GoogleSearchTool();
