import {InvalidOptionError} from '../errors.ts';
import {memberPath} from './member-path.ts';

/** No data that a person or a model writes nests deeper; a cycle does. */
export const MAX_DEPTH = 500;

/** Thrown within a copy by what it cannot hold. Each object on the way up adds itself, and the key that led down. */
export class Refusal extends Error {
  /** From the innermost to the outermost. */
  readonly trail: (readonly [object, string | number])[] = [];
  readonly #received: unknown;
  readonly #options: ErrorOptions | undefined;

  constructor(received: unknown, expected = 'a value that JSON can hold', options?: ErrorOptions) {
    super(expected);
    this.#received = received;
    this.#options = options;
  }

  /** @param name - what stands at the front of the path */
  toError(name: string): InvalidOptionError {
    let path = name;
    const ancestors = new Set<object>();
    for (const [object, key] of this.trail.toReversed()) {
      if (ancestors.has(object)) return new InvalidOptionError(path, 'free of cycles', object);
      ancestors.add(object);
      path = memberPath(path, key);
    }
    if (ancestors.size >= MAX_DEPTH) path = `${path.slice(0, 80)}...`;
    return new InvalidOptionError(path, this.message, this.#received, this.#options);
  }
}
