import {expectOption} from '../errors.ts';
import {isRecord} from './is-record.ts';
import {checkedCopy, frozenCopy} from './json-copy.ts';
import {resolveReference} from './resolve-reference.ts';
import {JSON_TYPES, schemasWithin, type JsonSchema} from './schemas-within.ts';

/**
 * A frozen copy of a JSON Schema that describes one object, complete and such that it can be meant. Where JSON Schema has several words for
 * one thing, it has one, so that those who read it need to know no other: `enum` for `const`, `anyOf` for `oneOf`, `prefixItems` for a list
 * in `items`.
 *
 * @param option - names the schema in errors
 * @throws {@link InvalidOptionError}
 */
export function settleJsonSchema(schema: unknown, option: string): JsonSchema {
  expectOption(isRecord(schema), option, 'a JSON Schema', schema);
  const {$schema: _, ...root} = checkedCopy(schema, option);
  settle(root, option, root);
  const received = root['type'] ?? (Object.keys(root).join(', ') || 'anything');
  expectOption(isOfObject(root, option, root), option, 'a schema of one object, whose properties are the arguments', received);
  return frozenCopy(root, option);
}

function settle(schema: unknown, path: string, root: JsonSchema): void {
  if (typeof schema === 'boolean') return;
  expectOption(isRecord(schema), path, 'a JSON Schema', schema);
  useOneWord(schema);
  const {$ref, type = [], required = [], properties = {}, additionalProperties} = schema;
  if (typeof $ref === 'string') resolveReference($ref, path, root);
  const areTypes = [type].flat().every((name) => JSON_TYPES.includes(name));
  expectOption(areTypes, `${path}.type`, `one of ${JSON_TYPES.join(', ')} (a genai Schema is in upper case, from its root on)`, type);
  expectOption(Array.isArray(required), `${path}.required`, 'a list of property names', required);
  for (const [child, at] of schemasWithin(schema, path)) settle(child, at, root);
  const forbidden: unknown = additionalProperties === false && required.find((name: string) => !Object.hasOwn(properties as object, name));
  expectOption(typeof forbidden !== 'string', `${path}.required`, 'names of properties that the schema allows', forbidden);
}

function useOneWord(schema: Record<string, unknown>): void {
  const {const: only, oneOf, items, additionalItems = true} = schema;
  if (only !== undefined) {
    schema['enum'] = [only];
    delete schema['const'];
  }
  if (oneOf !== undefined && schema['anyOf'] === undefined) {
    schema['anyOf'] = oneOf;
    delete schema['oneOf'];
  }
  if (!Array.isArray(items)) return;
  schema['prefixItems'] = items;
  schema['items'] = additionalItems;
  delete schema['additionalItems'];
}

/** Whether only objects fit. */
function isOfObject(schema: unknown, option: string, root: JsonSchema, depth = 0): boolean {
  if (!isRecord(schema) || depth > 50) return false;
  const {type, $ref, allOf = []} = schema;
  if (type !== undefined) return type === 'object';
  if (typeof $ref === 'string') return isOfObject(resolveReference($ref, option, root), option, root, depth + 1);
  if (schema['properties'] ?? schema['required'] ?? isRecord(schema['additionalProperties'])) return true;
  return (allOf as readonly unknown[]).some((member) => isOfObject(member, option, root, depth + 1));
}
