/**
 * The tools of an MCP server, over its own SDK (`@modelcontextprotocol/sdk`, an optional peer that is loaded by the first use).
 *
 * @module
 */
export type {
  MCPConnectionParams,
  StdioConnectionParams,
  StdioServerParameters,
  StreamableHTTPConnectionParams,
  StreamableHTTPTransportOptions,
} from './connection-params.ts';
export {MCPError, type MCPErrorCode} from './mcp-error.ts';
export type {MCPTool, MCPToolAnnotations} from './mcp-tool.ts';
export {MCPToolset, type MCPToolsetOptions} from './mcp-toolset.ts';
