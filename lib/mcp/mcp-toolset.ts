import type {Context} from '../context/context.ts';
import {expectOption, HookError} from '../errors.ts';
import {checkOptions, checkValues, isName, isPositiveMs, isString, optional} from '../schema/options.ts';
import {BaseToolset, type ToolFilter} from '../tools/base-toolset.ts';
import {checkConnectionParams, serverName, type MCPConnectionParams} from './connection-params.ts';
import type {ListedTool} from './list-tools.ts';
import {MCPError} from './mcp-error.ts';
import {MCPTool} from './mcp-tool.ts';
import {SharedConnection} from './shared-connection.ts';

/** What a toolset has beside what ADK's has. A key whose value is `undefined` counts as absent. */
export interface MCPToolsetOptions {
  /** How long one call of a tool may take, in milliseconds. Default 120,000; `Infinity` turns it off. Progress does not prolong it. */
  readonly timeoutMs?: number | undefined;
}

/**
 * The tools of an MCP server. Nothing happens before a run needs them; then there is one connection, which all runs share, and which is kept
 * until `close()`, that is, until the runner is closed. The tools are listed once, sorted by name, and again when the server says that they
 * have changed.
 *
 * A connection that was lost is made anew by the next call. A call that it was lost under is made again, once, only where the server cannot
 * have seen it or says that the tool is read-only or idempotent; else its error says that it may have taken effect.
 *
 * A server that is a child process does not keep a program from exiting while no call is under way, and ends with it. One over HTTP may keep
 * it: close the runner.
 *
 * What `toolFilter` lists are names, with the prefix or without. The model sees `prefix_name`. A stop ends a call at once, and the server is
 * sent `notifications/cancelled`.
 *
 * @example
 * ```ts
 * import {LlmAgent} from 'sluice';
 * import {MCPToolset} from 'sluice/mcp';
 *
 * const files = new MCPToolset({
 *   type: 'StdioConnectionParams',
 *   serverParams: {command: 'npx', args: ['-y', '@modelcontextprotocol/server-filesystem', '/srv/reports']},
 * });
 * const search = new MCPToolset(
 *   {
 *     type: 'StreamableHTTPConnectionParams',
 *     url: 'https://search.example/mcp',
 *     transportOptions: {requestInit: {headers: {Authorization: `Bearer ${process.env['SEARCH_TOKEN']}`}}},
 *   },
 *   ['find'],
 *   'search',
 *   {timeoutMs: 20_000},
 * );
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', tools: [files, search]});
 * ```
 */
export class MCPToolset extends BaseToolset {
  readonly #server: string;
  readonly #connection: SharedConnection;
  readonly #timeoutMs: number | undefined;
  #listed: readonly ListedTool[] | undefined;
  #tools: readonly MCPTool[] = [];

  /**
   * @param toolFilter - which tools to offer, by name or by a predicate; an empty list means all
   * @param prefix - put before every name, with a `_` between
   * @throws {@link InvalidOptionError} for parameters that are unknown or cannot be used
   */
  constructor(connectionParams: MCPConnectionParams, toolFilter: ToolFilter = [], prefix?: string, options: MCPToolsetOptions = {}) {
    checkConnectionParams(connectionParams);
    checkValues('MCPToolset', {toolFilter, prefix}, {toolFilter: TOOL_FILTER, prefix: optional(isName)});
    checkOptions<MCPToolsetOptions>('MCPToolset.options', options, {timeoutMs: optional(isPositiveMs)});
    super(toolFilter, prefix);
    this.#server = serverName(connectionParams);
    this.#connection = new SharedConnection(connectionParams);
    this.#timeoutMs = options.timeoutMs;
  }

  /**
   * Lists the tools; the same ones as long as the server's list stays the same.
   *
   * @throws MCPError where there is no connection and none can be made, and for a name that no model can call; a {@link HookError} where
   *   `toolFilter` throws, or gives a promise; at once the reason of the context's signal. What was begun for others goes on, and is given up when nobody waits for it any more.
   */
  override async getTools(context?: Context): Promise<MCPTool[]> {
    const listed = await this.#connection.tools(context?.abortSignal);
    if (listed !== this.#listed) {
      this.#tools = listed.filter((tool) => this.#isNamed(tool)).map((tool) => this.#toTool(tool));
      this.#listed = listed;
    }
    const {toolFilter} = this;
    return typeof toolFilter === 'function' ? this.#tools.filter((tool) => this.#isChosen(toolFilter, tool, context)) : [...this.#tools];
  }

  /**
   * Ends the calls under way and the connection. Settles, and never rejects, when no process and no socket is left, within a second: a server
   * that does not end is killed. A later use connects again.
   */
  override close(): Promise<void> {
    return this.#connection.close();
  }

  #isChosen(filter: Exclude<ToolFilter, readonly string[]>, tool: MCPTool, context: Context | undefined): boolean {
    try {
      const isChosen: unknown = filter(tool, context);
      // A promise would count as a yes.
      expectOption(!(isChosen instanceof Promise), 'toolFilter', 'a function that gives true or false', isChosen);
      return !!isChosen;
    } catch (cause) {
      throw new HookError('toolFilter', `the toolset of ${this.#server}`, cause);
    }
  }

  #nameOf({name}: ListedTool): string {
    return this.prefix === undefined ? name : `${this.prefix}_${name}`;
  }

  #isNamed(tool: ListedTool): boolean {
    const {toolFilter} = this;
    if (typeof toolFilter === 'function' || toolFilter.length === 0) return true;
    return toolFilter.includes(tool.name) || toolFilter.includes(this.#nameOf(tool));
  }

  #toTool(listed: ListedTool): MCPTool {
    const name = this.#nameOf(listed);
    if (!/^[A-Za-z_][\w.:-]{0,127}$/.test(name)) {
      const rule = 'a letter or "_" and then at most 127 of A-Z a-z 0-9 _ . : -';
      const cure = 'Give a prefix where the first character is at fault, or list in toolFilter the tools that you need';
      throw new MCPError('MCP_BAD_TOOLS', `No model can call the tool ${JSON.stringify(name)} of ${this.#server}: ${rule}. ${cure}`);
    }
    return new MCPTool({name, listed, connection: this.#connection, timeoutMs: this.#timeoutMs});
  }
}

const TOOL_FILTER = {
  expected: 'a list of names, or a function',
  accepts: (value: unknown): boolean => typeof value === 'function' || (Array.isArray(value) && value.every(isString.accepts)),
};
