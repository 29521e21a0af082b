import {AsyncLocalStorage} from 'node:async_hooks';
import {readFileSync} from 'node:fs';
import {parentPort, threadId} from 'node:worker_threads';
import type {WorkerContext} from '../../../lib/workers/index.ts';

/** An enum-free, type-annotated module: what Node strips of it is all that makes it TypeScript. */
type Flag = {readonly flag?: Int32Array};

export const tenant: AsyncLocalStorage<{name: string}> = new AsyncLocalStorage();
export const notAFunction = 42;
export const notABody: new () => object = class {};

export function echo(args: object): object {
  return args;
}

export function thread(): number {
  return threadId;
}

/** Blocks by waiting, as a synchronous driver does. */
export function block({ms = 60_000, flag}: {ms?: number} & Flag): number {
  if (flag) mark(flag);
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
  return threadId;
}

/** Blocks until the test lets it go. */
export function blockUntil({started, go}: {started: Int32Array; go: Int32Array}): number {
  mark(started);
  Atomics.wait(go, 0, 0);
  return threadId;
}

/** Waits in a system call, which no `terminate()` interrupts, until somebody writes into the named pipe. */
export function readPipe({path, flag}: {path: string} & Flag): string {
  if (flag) mark(flag);
  return readFileSync(path, 'utf8');
}

/** Computes for so long. */
export function compute({ms}: {ms: number}): number {
  let rounds = 0;
  for (const end = performance.now() + ms; performance.now() < end;) rounds++;
  return rounds;
}

export function spin({flag}: Flag): never {
  if (flag) mark(flag);
  for (;;);
}

/** Waits for its signal, and tells its reason. */
export async function untilAborted({flag}: Flag, {abortSignal}: WorkerContext): Promise<string> {
  return new Promise((resolve) => {
    abortSignal.addEventListener('abort', () => resolve(`stopped by ${String(abortSignal.reason)}`));
    if (flag) mark(flag);
  });
}

/** Hears of the stop, and does not care. */
export async function deaf({flag}: Flag): Promise<never> {
  if (flag) mark(flag);
  return new Promise(() => setInterval(() => {}, 1_000));
}

export async function* count({to, flag}: {to: number} & Flag): AsyncGenerator<object, string, undefined> {
  try {
    for (let n = 1; n <= to; n++) yield {n};
    return `counted to ${to}`;
  } finally {
    if (flag) mark(flag);
  }
}

export function seen(_args: unknown, context: WorkerContext): object {
  const {abortSignal, state, ...ids} = context;
  return {aborted: abortSignal.aborted, state: state.toRecord(), unit: state.get('unit'), ids};
}

export function write(_args: unknown, {state}: WorkerContext): void {
  (state as unknown as Map<string, number>).set('n', 1);
}

export function tenantName(): string | undefined {
  return tenant.getStore()?.name;
}

export function fail({code}: {code?: string}): never {
  throw Object.assign(new RangeError('no such order'), {code});
}

export function failOddly(): never {
  throw {message: 'odd', retry: () => {}};
}

export function failUnreadably(): never {
  const refuse = (): never => {
    throw new Error('hostile');
  };
  throw new Proxy({}, {get: refuse, has: refuse, getPrototypeOf: refuse, ownKeys: refuse});
}

export function failWithoutName(): never {
  throw Object.defineProperty(new Error('nameless'), 'name', {
    get: () => {
      throw new Error('hostile');
    },
  });
}

/** Nobody catches what it throws. */
export function failWithNothing(): Promise<never> {
  process.nextTick(() => {
    throw null;
  });
  return new Promise(() => {});
}

/** Talks to who has started the thread, as a body that was written for another pool might. */
export async function post(): Promise<string> {
  for (const message of [null, undefined, 'text', {ready: true}, {kind: 'returned', value: 'forged'}]) parentPort?.postMessage(message, []);
  await new Promise(setImmediate);
  return 'posted';
}

export function gives({what}: {what: string}): unknown {
  const values: Readonly<Record<string, unknown>> = {
    date: new Date(0),
    url: new URL('https://a.example/'),
    map: new Map([['a', 1]]),
    bytes: new Uint8Array([1, 2, 3]),
    error: new Error('as a value'),
    bigint: 10n,
    nothing: undefined,
    part: {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}},
    parts: ['two', {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo=', displayName: 'a.png'}}],
    function: {nested: {call: () => {}}},
    symbol: Symbol('s'),
    million: Array.from({length: 1_000_000}, () => 0),
    deep: nested(99),
    deepMap: new Map([['a', nested(98)]]),
    json: {toJSON: () => ({a: 1})},
    result: {result: null},
  };
  return values[what];
}

export function exit(): never {
  return process.exit(3);
}

/** Ends well, and breaks its thread later. */
export function failLater({flag}: Flag): void {
  setTimeout(() => {
    if (flag) mark(flag);
    throw new Error('left behind');
  }, 1);
}

/** Ends well, and holds its thread up later. */
export function spinLater({flag}: Flag): void {
  setImmediate(() => spin({...(flag && {flag})}));
}

function nested(levels: number): unknown {
  let value: unknown = 'the innermost';
  for (let level = 0; level < levels; level++) value = {a: value};
  return value;
}

function mark(flag: Int32Array): void {
  Atomics.add(flag, 0, 1);
  Atomics.notify(flag, 0);
}
