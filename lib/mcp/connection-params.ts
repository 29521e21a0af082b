import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {
  anyOf,
  checkOptions,
  isAnything,
  isBoolean,
  isFunction,
  isName,
  isObject,
  isOneOf,
  isPositiveMs,
  isString,
  isWholeNumber,
  optional,
  type Check,
} from '../schema/options.ts';

/** How an MCP server is started as a child process. */
export interface StdioServerParameters {
  /** The program, looked up in `PATH`. On Windows a `.cmd` file such as npx is started as `cmd` with `/c npx ...`. */
  readonly command: string;
  readonly args?: readonly string[] | undefined;
  /** Variables beside `HOME`, `LOGNAME`, `PATH`, `SHELL`, `TERM` and `USER` (and their like on Windows); others are not handed on. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** The folder that it runs in. Default: this process's own. */
  readonly cwd?: string | undefined;
  /**
   * Where its `stderr` goes. Default `pipe`: nowhere, but its last words are in the error when the server fails. `inherit`: to this
   * process's own. Also `ignore`, or a file descriptor.
   */
  readonly stderr?: 'pipe' | 'inherit' | 'ignore' | number | undefined;
  /** The longest message that is taken, in bytes; a longer one ends the connection. Default 64 MiB. */
  readonly maxBufferSize?: number | undefined;
}

/** A server that is started here and talked to over its stdin and stdout. */
export interface StdioConnectionParams {
  readonly type: 'StdioConnectionParams';
  readonly serverParams: StdioServerParameters;
  /** How long it may take to connect and to list the tools, in milliseconds. Default 60,000; `Infinity` turns it off. */
  readonly timeout?: number | undefined;
}

/** What is handed to the SDK's `StreamableHTTPClientTransport`. */
export interface StreamableHTTPTransportOptions {
  /** For every request, for example its `headers`. */
  readonly requestInit?: RequestInit | undefined;
  /** In place of the global `fetch`. */
  readonly fetch?: ((url: string | URL, init?: RequestInit) => Promise<Response>) | undefined;
  /** An `OAuthClientProvider` of the SDK. */
  readonly authProvider?: object | undefined;
  /** How the SDK resumes streams: `initialReconnectionDelay`, `maxReconnectionDelay`, `reconnectionDelayGrowFactor`, `maxRetries`. */
  readonly reconnectionOptions?: object | undefined;
  readonly redirectPolicy?: 'same-origin' | 'follow' | undefined;
}

/** A server that is reached over streamable HTTP. */
export interface StreamableHTTPConnectionParams {
  readonly type: 'StreamableHTTPConnectionParams';
  readonly url: string;
  /** Headers for every request, their values strings. Ignored where there are `transportOptions`, as in ADK: put them into `transportOptions.requestInit`. */
  readonly header?: Readonly<Record<string, unknown>> | undefined;
  /** How long it may take to connect and to list the tools, in milliseconds. Default 60,000; `Infinity` turns it off. */
  readonly timeout?: number | undefined;
  /** ADK's; not used, since every call has its own deadline. */
  readonly sseReadTimeout?: number | undefined;
  /** Whether the server is told to end the session when the toolset is closed. Default `true`. */
  readonly terminateOnClose?: boolean | undefined;
  readonly transportOptions?: StreamableHTTPTransportOptions | undefined;
}

/** How an MCP server is reached. */
export type MCPConnectionParams = StdioConnectionParams | StreamableHTTPConnectionParams;

/** @throws {@link InvalidOptionError} for parameters that are unknown or cannot be used */
export function checkConnectionParams(params: MCPConnectionParams): void {
  expectOption(isRecord(params), 'connectionParams', 'an object of options', params);
  const {type} = params;
  const isKnown = type === 'StdioConnectionParams' || type === 'StreamableHTTPConnectionParams';
  expectOption(isKnown, 'connectionParams.type', '"StdioConnectionParams" or "StreamableHTTPConnectionParams"', type);
  if (type === 'StdioConnectionParams') checkStdio(params);
  else checkHttp(params);
}

function checkStdio(params: StdioConnectionParams): void {
  checkOptions<StdioConnectionParams>('connectionParams', params, {
    type: isAnything,
    serverParams: isObject,
    timeout: optional(isPositiveMs),
  });
  checkOptions<StdioServerParameters>('connectionParams.serverParams', params.serverParams, {
    command: isName,
    args: optional({expected: 'a list of strings', accepts: (value) => Array.isArray(value) && value.every(isString.accepts)}),
    env: optional(TEXTS),
    cwd: optional(isName),
    stderr: optional(anyOf(isOneOf(['pipe', 'inherit', 'ignore']), isWholeNumber({min: 0}))),
    maxBufferSize: optional(isWholeNumber({min: 1})),
  });
}

function checkHttp(params: StreamableHTTPConnectionParams): void {
  checkOptions<StreamableHTTPConnectionParams>('connectionParams', params, {
    type: isAnything,
    url: isName,
    header: optional(TEXTS),
    timeout: optional(isPositiveMs),
    sseReadTimeout: optional(isPositiveMs),
    terminateOnClose: optional(isBoolean),
    transportOptions: optional(isObject),
  });
  const url = URL.canParse(params.url) ? new URL(params.url) : undefined;
  expectOption(/^https?:$/.test(url?.protocol ?? ''), 'connectionParams.url', 'an http: or https: URL', params.url);
  const isBare = `${url?.username}${url?.password}` === '';
  expectOption(isBare, 'connectionParams.url', 'without credentials (send them as headers)', 'a URL with a user or a password');
  checkOptions<StreamableHTTPTransportOptions>('connectionParams.transportOptions', params.transportOptions ?? {}, {
    requestInit: optional(isObject),
    fetch: optional(isFunction),
    authProvider: optional(isObject),
    reconnectionOptions: optional(isObject),
    redirectPolicy: optional(isOneOf(['same-origin', 'follow'])),
  });
}

const TEXTS: Check = {
  expected: 'an object of strings',
  accepts: (value) => isRecord(value) && Object.values(value).every(isString.accepts),
};

/** Names the server in errors. Never its headers, arguments or variables, which may hold keys. */
export function serverName(params: MCPConnectionParams): string {
  if (params.type === 'StdioConnectionParams') return `the MCP server \`${params.serverParams.command}\``;
  const {origin, pathname} = new URL(params.url);
  return `the MCP server at ${origin}${pathname}`;
}
