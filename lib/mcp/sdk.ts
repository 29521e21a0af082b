import type {Client} from '@modelcontextprotocol/sdk/client/index.js';
import type {StreamableHTTPClientTransport} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type {ResultSchema} from '@modelcontextprotocol/sdk/types.js';
import {messageOf} from '../errors.ts';
import {MCPError} from './mcp-error.ts';

/** What is used of the SDK. */
export interface Sdk {
  readonly Client: typeof Client;
  readonly StreamableHTTPClientTransport: typeof StreamableHTTPClientTransport;
  readonly ResultSchema: typeof ResultSchema;
}

/**
 * Loads the SDK, which is optional, when it is needed.
 *
 * @throws MCPError (`MCP_SDK_MISSING`)
 */
export async function loadSdk(): Promise<Sdk> {
  try {
    // One after the other, the lowest first: together they would block the event loop for two to three times as long in one piece.
    const {ResultSchema} = await import('@modelcontextprotocol/sdk/types.js');
    await turn();
    const {StreamableHTTPClientTransport} = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    await turn();
    const {Client} = await import('@modelcontextprotocol/sdk/client/index.js');
    return {Client, StreamableHTTPClientTransport, ResultSchema};
  } catch (cause) {
    const message = `MCPToolset needs the package @modelcontextprotocol/sdk (npm install @modelcontextprotocol/sdk): ${messageOf(cause)}`;
    throw new MCPError('MCP_SDK_MISSING', message, {cause});
  }
}

/** Lets what waits have its turn: an import that has nothing to read from the disk does not. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    setTimeout(resolve);
  });
}
