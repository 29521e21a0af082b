import {Lifetime} from '../async/lifetime.ts';
import {Timers} from '../async/timers.ts';
import {Connection, type Progress} from './connection.ts';
import {serverName, type MCPConnectionParams} from './connection-params.ts';
import {httpFailure, reasonOf} from './http-failure.ts';
import {listTools, type ListedTool} from './list-tools.ts';
import {LostRequest} from './lost-request.ts';
import {MCPError} from './mcp-error.ts';
import {SharedWork} from './shared-work.ts';

/** A call of a tool on its server. */
export interface ServerCall {
  /** The tool's name on the server. */
  readonly name: string;
  readonly args: Record<string, unknown>;
  /** Whether a call that may have taken effect can be made again. */
  readonly isRepeatable: boolean;
  readonly abortSignal: AbortSignal;
  readonly onProgress: (progress: Progress) => void;
}

/**
 * The connection that all users of a toolset share. It is made by the first who needs it, made anew when it was lost, and listed once, until
 * the server says that its tools have changed.
 */
export class SharedConnection {
  readonly #params: MCPConnectionParams;
  /** Those that are open: the current one, and others that still have requests under way. */
  readonly #connections = new Set<Connection>();
  #current: Connection | undefined;
  #tools: readonly ListedTool[] | undefined;
  #isStale = false;
  #opening: SharedWork<Connection> | undefined;
  #listing: SharedWork<readonly ListedTool[]> | undefined;
  /** What has still to end: the toolset is closed when nothing of it is left. */
  readonly #ending = new Set<Promise<unknown>>();
  /** Ends the calls under way when the toolset is closed. */
  #life = new Lifetime();

  constructor(params: MCPConnectionParams) {
    this.#params = params;
  }

  /**
   * What the server has. A list that is known is given without asking anew, also when the connection was lost: calls will make another.
   *
   * @throws MCPError, or at once the reason of the signal
   */
  async tools(abortSignal: AbortSignal | undefined): Promise<readonly ListedTool[]> {
    if (!this.#tools) await this.#connect(abortSignal);
    else if (this.#isStale && this.#current?.isUsable) {
      if (!this.#listing?.isOpen) this.#listing = this.#begin((life) => this.#list(this.#current!, life));
      try {
        await this.#listing.join(abortSignal);
      } catch (error) {
        abortSignal?.throwIfAborted();
        // The old list is better than none: a server that cannot answer must not keep the run from its other tools.
        if (error instanceof MCPError && error.code === 'MCP_CLOSED') throw error;
      }
    }
    return this.#tools ?? [];
  }

  /**
   * Calls a tool. Where the connection is lost it is made anew, once, and the call is made again where that can do no harm.
   *
   * @throws at once the reason of the signal; MCPError; the SDK's own error for what the server refuses
   */
  async call({name, args, isRepeatable, abortSignal, onProgress}: ServerCall): Promise<Record<string, unknown>> {
    const life = this.#life.child();
    const stop = (): void => life.end(abortSignal.reason);
    if (abortSignal.aborted) stop();
    abortSignal.addEventListener('abort', stop, {once: true});
    try {
      for (let isLast = false; ; isLast = true) {
        const connection = await this.#connect(life.signal);
        try {
          return await connection.request('tools/call', {name, arguments: args}, {life, onProgress});
        } catch (error) {
          if (!(error instanceof LostRequest)) throw this.#refused(name, error);
          if (isLast || (error.wasSent && !isRepeatable)) throw this.#lost(name, error, connection.endReason);
        }
      }
    } finally {
      abortSignal.removeEventListener('abort', stop);
      life.close();
    }
  }

  /** Ends all that is under way, and settles when no process and no socket is left. A later use connects again. */
  async close(): Promise<void> {
    const closed = new MCPError('MCP_CLOSED', `The toolset of ${serverName(this.#params)} was closed`);
    this.#life.end(closed);
    this.#life = new Lifetime();
    this.#opening?.end(closed);
    this.#listing?.end(closed);
    for (const connection of this.#connections) void connection.close();
    this.#current = undefined;
    this.#tools = undefined;
    await Promise.all(this.#ending);
  }

  async #connect(abortSignal: AbortSignal | undefined): Promise<Connection> {
    if (this.#current?.isUsable) return this.#current;
    if (!this.#opening?.isOpen) this.#opening = this.#begin((life) => this.#open(life));
    return this.#opening.join(abortSignal);
  }

  async #open(life: Lifetime): Promise<Connection> {
    const connection = await Connection.open(this.#params, life, {
      toolsChanged: () => (this.#isStale = true),
      closing: (connection, work) => {
        this.#connections.delete(connection);
        this.#track(work);
      },
    });
    try {
      await this.#list(connection, life);
    } catch (cause) {
      void connection.close();
      life.throwIfEnded();
      if (cause instanceof MCPError) throw cause;
      const why = connection.endReason ?? reasonOf(cause);
      throw new MCPError('MCP_CONNECTION_FAILED', `Could not list the tools of ${serverName(this.#params)}: ${why}`, {cause});
    }
    this.#connections.add(connection);
    this.#current = connection;
    return connection;
  }

  async #list(connection: Connection, life: Lifetime): Promise<readonly ListedTool[]> {
    // Before asking: a change while the list is on its way counts.
    this.#isStale = false;
    try {
      return (this.#tools = await listTools(connection, life));
    } catch (error) {
      this.#isStale = true;
      throw error;
    }
  }

  /** Begins work with the server that has a deadline, and that ends with the toolset. */
  #begin<T>(work: (life: Lifetime) => Promise<T>): SharedWork<T> {
    const {timeout = 60_000} = this.#params;
    const shared = new SharedWork(async (life) => {
      const timers = new Timers();
      timers.hold();
      const message = `${serverName(this.#params)} did not connect and list its tools within ${timeout} ms`;
      timers.set(timeout, () => life.end(new MCPError('MCP_CONNECTION_FAILED', message)));
      try {
        return await work(life);
      } finally {
        timers.clear();
      }
    });
    this.#track(shared.over);
    return shared;
  }

  #track(work: Promise<unknown>): void {
    this.#ending.add(work);
    void work.finally(() => this.#ending.delete(work));
  }

  #refused(name: string, error: unknown): unknown {
    const failure = httpFailure(error);
    if (failure === undefined) return error;
    const message = `${serverName(this.#params)} did not answer the call of \`${name}\`: ${failure}`;
    return new MCPError('MCP_HTTP_ERROR', message, {cause: error});
  }

  #lost(name: string, {wasSent, cause, message}: LostRequest, endReason: string | undefined): MCPError {
    const effect = wasSent ? ' It may have taken effect.' : '';
    const why = `The connection to ${serverName(this.#params)} was lost while \`${name}\` was called (${endReason ?? message}).${effect}`;
    return new MCPError('MCP_CONNECTION_LOST', why, {cause});
  }
}
