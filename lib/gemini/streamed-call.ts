import type {FunctionCall} from '@google/genai';

import type {Json, Part} from '../content.ts';
import {ModelError} from '../errors.ts';

type Container = Json[] | {[key: string]: Json};
type PartialArg = NonNullable<FunctionCall['partialArgs']>[number];

/** Whether a part is a piece of a call whose arguments are streamed, and not a whole call. */
export function isCallFragment({functionCall}: Part): boolean {
  if (functionCall === undefined) return false;
  return functionCall.partialArgs !== undefined || functionCall.willContinue !== undefined || functionCall.name === undefined;
}

/** Whether a fragment only says that its call is over. */
export function isCallTerminator({functionCall}: Part): boolean {
  return functionCall !== undefined && Object.values(functionCall).every((value) => value === undefined || value === false);
}

/** A function call whose arguments arrive in fragments. Its `part` is complete once the last fragment is in. */
export class StreamedCall {
  readonly part: Part;
  readonly #call: FunctionCall;
  readonly #args: {[key: string]: Json} = {};
  #open = true;

  constructor(first: Part) {
    const {partialArgs: _, willContinue: __, ...call} = first.functionCall ?? {};
    this.#call = {...call, args: this.#args};
    this.part = {...first, functionCall: this.#call};
    this.add(first);
  }

  /** Whether fragments are still to come. The last one may be missing; then the next call or the end of the reply stands for it. */
  get open(): boolean {
    return this.#open;
  }

  /** Whether a fragment goes on with this call, and does not begin another. */
  continuesWith({functionCall}: Part): boolean {
    if (!this.#open || functionCall === undefined) return false;
    return functionCall.name === undefined || (functionCall.id !== undefined && functionCall.id === this.#call.id);
  }

  /** @throws {@link ModelError} `PROTOCOL_ERROR` if a fragment's place in the arguments makes no sense */
  add(fragment: Part): void {
    const call = fragment.functionCall ?? {};
    for (const [name, value] of Object.entries(call.args ?? {})) put(this.#args, name, value as Json);
    for (const piece of call.partialArgs ?? []) addPiece(this.#args, piece);
    this.#open = call.willContinue === true;
    if (fragment.thoughtSignature !== undefined) this.part.thoughtSignature ??= fragment.thoughtSignature;
  }
}

/** Puts one piece at its place; the pieces of a string are joined. */
function addPiece(args: {[key: string]: Json}, piece: PartialArg): void {
  const value = valueOf(piece);
  if (value === undefined) return;
  const keys = keysOf(piece.jsonPath ?? '');
  const last = keys.pop();
  if (last === undefined) throw badPath(piece.jsonPath);
  let place: Container = args;
  for (const [index, key] of keys.entries()) {
    const next = keys[index + 1] ?? last;
    place = descend(place, key, typeof next === 'number' ? [] : {}, piece.jsonPath);
  }
  const present = get(place, last, piece.jsonPath);
  put(place, last, typeof present === 'string' && typeof value === 'string' ? present + value : value);
}

function valueOf(piece: PartialArg): Json | undefined {
  if (piece.stringValue !== undefined) return piece.stringValue;
  if (piece.numberValue !== undefined) return piece.numberValue;
  if (piece.boolValue !== undefined) return piece.boolValue;
  return 'nullValue' in piece ? null : undefined;
}

function descend(place: Container, key: string | number, fresh: Container, path: string | undefined): Container {
  const present = get(place, key, path);
  if (present === undefined) {
    put(place, key, fresh);
    return fresh;
  }
  if (typeof present !== 'object' || present === null) throw badPath(path);
  return present;
}

function get(place: Container, key: string | number, path: string | undefined): Json | undefined {
  if (Array.isArray(place) !== (typeof key === 'number')) throw badPath(path);
  // A list grows by one at a time: a far index would make a list of holes that eats the memory.
  if (Array.isArray(place) && Number(key) > place.length) throw badPath(path);
  return Object.hasOwn(place, key) ? (place as Record<string | number, Json>)[key] : undefined;
}

function put(place: Container, key: string | number, value: Json): void {
  // Not an assignment: a model may call an argument `__proto__`.
  Object.defineProperty(place, key, {value, writable: true, enumerable: true, configurable: true});
}

// A step of a JSON path (RFC 9535) with one target: `.name`, `[0]`, `['name']`, `["name"]`.
const step = /\.([^.[\]]+)|\[(\d+)\]|\['((?:[^'\\]|\\.)*)'\]|\["((?:[^"\\]|\\.)*)"\]/y;

function keysOf(path: string): (string | number)[] {
  const keys: (string | number)[] = [];
  if (!path.startsWith('$')) throw badPath(path);
  step.lastIndex = 1;
  while (step.lastIndex < path.length) {
    const match = step.exec(path);
    if (match === null) throw badPath(path);
    const [, name, index, single, double] = match;
    if (name !== undefined) keys.push(name);
    else if (index !== undefined) keys.push(Number(index));
    else keys.push(unescape(single ?? double ?? ''));
  }
  return keys;
}

/** The escapes of JSON strings, and `\'`. */
function unescape(quoted: string): string {
  const named: Record<string, string> = {b: '\b', f: '\f', n: '\n', r: '\r', t: '\t'};
  return quoted.replace(/\\(?:u([0-9a-fA-F]{4})|(.))/gs, (_, hex: string | undefined, character: string) =>
    hex === undefined ? (named[character] ?? character) : String.fromCharCode(Number.parseInt(hex, 16)),
  );
}

function badPath(path: string | undefined): ModelError {
  return new ModelError(`The model streams an argument to a place that makes no sense: ${JSON.stringify(path)}`, {code: 'PROTOCOL_ERROR'});
}
