import {abandonedWork} from '../agents/diagnostic.ts';
import type {RunScope} from '../agents/run-scope.ts';
import type {Lifetime} from '../async/lifetime.ts';
import {within} from '../async/within.ts';
import {describe, ModelError} from '../errors.ts';
import {isResponse} from '../agents/llm/model-reply.ts';
import type {BaseLlmConnection} from '../models/base-llm-connection.ts';
import type {LlmResponse} from '../models/llm-response.ts';

export interface OpenConnectionOptions {
  readonly run: RunScope;
  /** Of this connection: its end stops the attempt. */
  readonly life: Lifetime;
  /** For example `model gemini-live-2.5-flash-preview`. */
  readonly name: string;
  readonly connect: (abortSignal: AbortSignal) => Promise<BaseLlmConnection>;
}

/** Opens a connection. After a stop one that still comes is closed, and one that does not let go is left behind after the grace. */
export async function openConnection({run, life, name, connect}: OpenConnectionOptions): Promise<BaseLlmConnection> {
  const leave = run.open.enter({name});
  const opening = (async () => connect(life.signal))();
  try {
    const connection = await new Promise<BaseLlmConnection>((resolve, reject) => {
      opening.then(resolve, reject);
      life.onEnd(() => reject(life.reason));
    });
    return checkConnection(connection);
  } catch (error) {
    if (life.ended) {
      opening.then((late) => late.close()).catch(() => {});
      const letGo = await within(opening, (callback) => run.timers.set(run.config.abortGraceMs, callback));
      if (!letGo) run.diagnose(abandonedWork(name));
    }
    throw error;
  } finally {
    leave();
  }
}

function checkConnection(connection: unknown): BaseLlmConnection {
  const fits = typeof connection === 'object' && connection !== null && 'receive' in connection && 'close' in connection;
  if (fits) return connection as BaseLlmConnection;
  throw new ModelError(`\`connect\` gave ${describe(connection)}, not a BaseLlmConnection`, {code: 'INVALID_RESPONSE'});
}

/** Reads until the connection ends or is lost. */
export async function readConnection(
  connection: BaseLlmConnection,
  life: Lifetime,
  onResponse: (response: LlmResponse) => void,
): Promise<void> {
  for await (const response of connection.receive()) {
    life.throwIfEnded();
    if (!isResponse(response)) throw new ModelError(`The model gave ${describe(response)}, not an LlmResponse`, {code: 'INVALID_RESPONSE'});
    onResponse(response);
  }
  life.throwIfEnded();
}

/** A connection of the user's may fail even in this. */
export async function closeConnection(connection: BaseLlmConnection | undefined): Promise<void> {
  try {
    await connection?.close();
  } catch {
    // It is not needed any more.
  }
}

/** Whether something could not be sent because the connection was gone. */
export function isClosed(error: unknown): boolean {
  return error instanceof ModelError && error.code === 'CONNECTION_CLOSED';
}
