import {expectOption} from '../errors.ts';
import {isRecord} from './is-record.ts';
import type {JsonSchema} from './schemas-within.ts';

/**
 * The schema that a `$ref` points to, in `$defs` or in the `definitions` of older drafts.
 *
 * @param option - names the schema in errors
 * @throws {@link InvalidOptionError} where there is none
 */
export function resolveReference(ref: string, option: string, root: JsonSchema): JsonSchema {
  const [place, keyword, name = ''] = /^#(?:\/(\$defs|definitions)\/([^/]+))?$/.exec(ref) ?? [];
  expectOption(place !== undefined, option, 'self-contained, each `$ref` being `#` or `#/$defs/...`', ref);
  if (keyword === undefined) return root;
  const definitions = new Map<string, unknown>(Object.entries(root[keyword] ?? {}));
  const schema = definitions.get(name.replaceAll('~1', '/').replaceAll('~0', '~'));
  expectOption(isRecord(schema), option, `complete: \`${ref}\` is referred to`, root);
  return schema;
}
