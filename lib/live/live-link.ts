import type {Lifetime} from '../async/lifetime.ts';
import type {RunScope} from '../agents/run-scope.ts';
import {abandonedWork} from '../agents/diagnostic.ts';
import {ModelError} from '../errors.ts';
import type {BaseLlmConnection} from '../models/base-llm-connection.ts';
import type {BaseLlm} from '../models/base-llm.ts';
import type {LlmResponse} from '../models/llm-response.ts';
import {backOff} from './back-off.ts';
import {closeConnection, isClosed, openConnection, readConnection} from './open-connection.ts';

// Made once: an exception captures its stack.
const OVER = new DOMException('The connection is over', 'AbortError');

/** Connections in a row that may be lost, or not come about, before a turn is complete again. */
const MAX_LOSSES = 5;
/** A connection that has lasted so long was a good one, also where nobody has said anything. */
const LASTING_MS = 60_000;

export interface LiveLinkOptions {
  readonly run: RunScope;
  readonly model: BaseLlm;
  /** Opens a connection. */
  readonly connect: (abortSignal: AbortSignal) => Promise<BaseLlmConnection>;
  /** Told of each connection before anything else may be sent over it. */
  readonly onConnected: (connection: BaseLlmConnection) => Promise<void>;
  readonly onResponse: (response: LlmResponse) => void;
  /** Told when a connection is gone; another one follows once it has resolved. */
  readonly onLost: () => Promise<void>;
}

/** The connection of a live run: one after the other, where one is lost or ends. */
export class LiveLink {
  readonly #options: LiveLinkOptions;
  readonly #name: string;
  readonly #waiting: (() => void)[] = [];
  #connection: BaseLlmConnection | undefined;
  #ended = false;
  #renewing = false;
  #losses = 0;
  /** Stops waiting for a connection that does not end. */
  #giveUp: (() => void) | undefined;

  constructor(options: LiveLinkOptions) {
    this.#options = options;
    this.#name = `model ${options.model.model}`;
  }

  /** Connects and reads, until `end` is called. Rejects where the model fails for good, and at the end of the run. */
  async run(): Promise<void> {
    while (!this.#ended) {
      this.#options.run.life.throwIfEnded();
      const loss = await this.#hold();
      // One that was left in time counts too: a server may announce its end as its first word, over and over.
      if (!this.#ended && ++this.#losses > MAX_LOSSES) {
        throw loss ?? new ModelError('The server ends one connection after the other', {code: 'CONNECTION_LOST', retryable: true});
      }
      await this.#options.onLost();
      if (!this.#ended) await backOff(this.#options.run, this.#losses, loss?.retryDelayMs);
    }
  }

  /** A turn is complete: what was lost before counts no more. */
  progressed(): void {
    this.#losses = 0;
  }

  /** Goes on with a new connection. */
  renew(): void {
    this.#renewing = true;
    this.#leave();
  }

  /** Nothing more is to come. */
  end(): void {
    this.#ended = true;
    this.#leave();
  }

  /**
   * Sends over the connection that there is, or the next one. Where it is lost meanwhile, `send` is asked again with the one after it.
   * Rejects at the end of the run.
   */
  async send(send: (connection: BaseLlmConnection) => Promise<void>): Promise<void> {
    for (;;) {
      const connection = await this.#connected();
      const leave = this.#options.run.open.enter({name: this.#name});
      try {
        await send(connection);
        return;
      } catch (error) {
        this.#options.run.life.throwIfEnded();
        if (!isClosed(error)) throw error;
        // Whoever reads from it hears of the loss too, and decides what follows.
        if (this.#connection === connection) this.#connection = undefined;
      } finally {
        leave();
      }
    }
  }

  /** Closes the connection. One that does not end for that is left behind after the grace. */
  #leave(): void {
    const {timers, config} = this.#options.run;
    void closeConnection(this.#connection);
    const giveUp = this.#giveUp;
    if (giveUp) timers.set(config.abortGraceMs, giveUp);
  }

  async #connected(): Promise<BaseLlmConnection> {
    const {life} = this.#options.run;
    while (!this.#connection) {
      life.throwIfEnded();
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    life.throwIfEnded();
    return this.#connection;
  }

  /** Wakes whoever waits for a connection; at the end of the run too. */
  wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }

  /** Holds one connection. Returns what it was lost by, where another one may do better; nothing where it was left. */
  async #hold(): Promise<ModelError | undefined> {
    const {run} = this.#options;
    const life = run.life.child();
    const since = performance.now();
    try {
      await this.#once(life);
      // One that was left behind at a stop is not lost: nothing follows.
      run.life.throwIfEnded();
      return undefined;
    } catch (error) {
      run.life.throwIfEnded();
      if (!(error instanceof ModelError) || !error.retryable) throw error;
      return error;
    } finally {
      life.end(OVER);
      if (performance.now() - since >= LASTING_MS) this.#losses = 0;
    }
  }

  async #once(life: Lifetime): Promise<void> {
    const {run, connect, onConnected, onResponse} = this.#options;
    const connection = await openConnection({run, life, name: this.#name, connect});
    this.#renewing = false;
    const leave = run.open.enter({name: this.#name});
    life.onEnd(() => {
      void closeConnection(connection);
      if (this.#giveUp) run.timers.set(run.config.abortGraceMs, this.#giveUp);
    });
    try {
      const reading = this.#read(connection, life, onResponse);
      // It is awaited below; until then it must not count as unhandled.
      reading.catch(() => {});
      const greeting = onConnected(connection);
      const greeted = new Promise<void>((resolve, reject) => {
        greeting.then(resolve, reject);
        reading.then(resolve, reject);
      });
      await greeted.catch(async (error: unknown) => {
        // What it was closed for is known to the reading.
        if (isClosed(error)) await reading;
        throw error;
      });
      this.#connection = connection;
      // It may have been asked for while there was none.
      if (this.#ended || this.#renewing) return;
      this.wake();
      await new Promise<void>((resolve, reject) => {
        reading.then(resolve, reject);
        let isOver = false;
        reading.finally(() => (isOver = true)).catch(() => {});
        this.#giveUp = () => {
          if (!isOver) run.diagnose(abandonedWork(this.#name));
          resolve();
        };
      });
    } finally {
      this.#giveUp = undefined;
      if (this.#connection === connection) this.#connection = undefined;
      await closeConnection(connection);
      leave();
    }
  }

  async #read(connection: BaseLlmConnection, life: Lifetime, onResponse: (response: LlmResponse) => void): Promise<void> {
    await readConnection(connection, life, onResponse);
    if (!this.#ended && !this.#renewing) {
      throw new ModelError('The model ended the connection', {code: 'CONNECTION_LOST', retryable: true});
    }
  }
}
