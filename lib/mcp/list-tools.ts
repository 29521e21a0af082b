import type {Lifetime} from '../async/lifetime.ts';
import {isRecord} from '../schema/is-record.ts';
import type {Connection} from './connection.ts';
import {MCPError} from './mcp-error.ts';

/** A tool as its server describes it. Nothing but the name is certain. */
export interface ListedTool {
  readonly name: string;
  readonly title?: unknown;
  readonly description?: unknown;
  readonly inputSchema?: unknown;
  readonly outputSchema?: unknown;
  readonly annotations?: unknown;
}

/** Far beyond what any model can choose from. */
const MAX_PAGES = 1_000;

/**
 * All tools of a server, page by page, sorted by name: servers list them in any order, and a model's cache of the request needs the same.
 * A name that comes twice counts once.
 *
 * @throws MCPError (`MCP_BAD_TOOLS`) for a list that is none, or that has no end
 */
export async function listTools(connection: Connection, life: Lifetime): Promise<readonly ListedTool[]> {
  const tools = new Map<string, ListedTool>();
  let cursor: unknown;
  for (let page = 0; connection.hasTools; page++) {
    const result = await connection.request('tools/list', cursor === undefined ? {} : {cursor}, {life});
    if (!Array.isArray(result['tools']))
      throw new MCPError('MCP_BAD_TOOLS', 'The MCP server answered `tools/list` without a list of tools');
    for (const tool of result['tools'] as unknown[]) if (isListedTool(tool) && !tools.has(tool.name)) tools.set(tool.name, tool);
    const next = result['nextCursor'];
    if (next === undefined || next === null || next === '') break;
    if (next === cursor || page === MAX_PAGES) throw new MCPError('MCP_BAD_TOOLS', "The MCP server's list of tools has no end");
    cursor = next;
  }
  return [...tools.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

function isListedTool(value: unknown): value is ListedTool {
  return isRecord(value) && typeof value['name'] === 'string';
}
