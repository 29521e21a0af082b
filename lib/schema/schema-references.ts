import {InvalidOptionError} from '../errors.ts';

/** Follows the `$ref`s of one JSON Schema. A place in it is named `#`, its root, or `#/$defs/` and the name of a definition. */
export class SchemaReferences {
  readonly #root: Readonly<Record<string, unknown>>;
  readonly #option: string;

  constructor(root: Readonly<Record<string, unknown>>, option: string) {
    this.#root = root;
    this.#option = option;
  }

  /** The place that a `$ref` points to; `definitions` are the `$defs` of older drafts. */
  placeOf(ref: string): string {
    const name = /^#\/(?:\$defs|definitions)\/([^/]+)$/.exec(ref)?.[1];
    if (name !== undefined) return `#/$defs/${name.replaceAll('~1', '/').replaceAll('~0', '~')}`;
    if (ref === '#') return '#';
    throw new InvalidOptionError(this.#option, 'self-contained, each `$ref` being `#` or `#/$defs/...`', ref);
  }

  /** @throws {@link InvalidOptionError} where there is none */
  schemaAt(place: string): Readonly<Record<string, unknown>> {
    if (place === '#') return this.#root;
    const definitions = {...(this.#root['definitions'] as object | undefined), ...(this.#root['$defs'] as object | undefined)};
    const schema = new Map<string, unknown>(Object.entries(definitions)).get(place.slice('#/$defs/'.length));
    if (typeof schema === 'object' && schema !== null) return schema as Record<string, unknown>;
    throw new InvalidOptionError(this.#option, `complete: \`${place}\` is referred to`, this.#root);
  }

  /** Whether a place holds itself, directly or through others. */
  isRecursive(place: string): boolean {
    return this.leadsTo(this.schemaAt(place), place);
  }

  /** Whether a schema refers to a place, directly or through others. */
  leadsTo(schema: unknown, place: string): boolean {
    const seen = new Set<string>();
    const open: unknown[] = [schema];
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      if (typeof next !== 'object' || next === null) continue;
      for (const [key, value] of Object.entries(next)) {
        if (key !== '$ref' || typeof value !== 'string') {
          // The definitions are looked at when something refers to them.
          if (key !== '$defs' && key !== 'definitions') open.push(value);
          continue;
        }
        const at = this.placeOf(value);
        if (at === place) return true;
        if (!seen.has(at)) open.push(this.schemaAt(at));
        seen.add(at);
      }
    }
    return false;
  }
}
