import {SluiceError} from '../errors.ts';

/**
 * What went wrong between Sluice and an MCP server:
 * - `MCP_SDK_MISSING`: `@modelcontextprotocol/sdk` is not installed, or cannot be loaded;
 * - `MCP_CONNECTION_FAILED`: the server did not start, was not reached, or did not say in time what tools it has;
 * - `MCP_CONNECTION_LOST`: the connection ended while a call was under way, and the call may have taken effect;
 * - `MCP_TOOL_FAILED`: the tool itself says that it failed;
 * - `MCP_BAD_RESULT`: what came for a call is no result of a tool, or does not fit the `outputSchema` that the server has given for it;
 * - `MCP_HTTP_ERROR`: a call was answered with an HTTP status that says that it failed, and may have taken effect;
 * - `MCP_BAD_TOOLS`: what the server lists cannot be offered to a model;
 * - `MCP_CLOSED`: the toolset was closed meanwhile.
 */
export type MCPErrorCode =
  | 'MCP_SDK_MISSING'
  | 'MCP_CONNECTION_FAILED'
  | 'MCP_CONNECTION_LOST'
  | 'MCP_TOOL_FAILED'
  | 'MCP_BAD_RESULT'
  | 'MCP_HTTP_ERROR'
  | 'MCP_BAD_TOOLS'
  | 'MCP_CLOSED';

/**
 * A failure of an MCP server, or of the connection to it. Within a call it is told to the model; while tools are listed it ends the run.
 * `cause` is the SDK's own error, where there is one.
 */
export class MCPError extends SluiceError {
  readonly code: MCPErrorCode;

  constructor(code: MCPErrorCode, message: string, options?: ErrorOptions) {
    super(message, options);
    this.code = code;
  }
}
