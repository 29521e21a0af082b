import {isRecord} from '../schema/is-record.ts';
import {setOwn} from '../schema/json-copy.ts';

/** What stands under these keys is the user's own, and its keys stay as they are. */
const OPAQUE = new Set([
  'args',
  'response',
  'state',
  'stateDelta',
  'artifactDelta',
  'customMetadata',
  'requestedAuthConfigs',
  'requestedToolConfirmations',
]);

/**
 * The fields that a route reads, as they came. Clients of ADK write their names in snake_case or in camelCase, and `null` for what is absent;
 * where one comes in both ways, camelCase counts. What nobody reads is not looked at, however much it is.
 */
export function fieldsOf<Name extends string>(
  body: Readonly<Record<string, unknown>>,
  names: readonly Name[],
): Partial<Record<Name, unknown>> {
  const fields: Partial<Record<Name, unknown>> = {};
  for (const name of names) {
    const snake = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    const key = [name, snake].find((it) => Object.hasOwn(body, it));
    const value = key === undefined ? undefined : body[key];
    if (value !== undefined && value !== null) fields[name] = value;
  }
  return fields;
}

/** The value of such a field, all of its keys in camelCase and what is `null` left out. */
export function toCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCamelCase);
  if (!isRecord(value)) return value;
  const result: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const name = camelCase(key);
    if (item === null || (name !== key && Object.hasOwn(value, name))) continue;
    setOwn(result, name, OPAQUE.has(name) ? item : toCamelCase(item));
  }
  return result;
}

function camelCase(key: string): string {
  return key.includes('_') ? key.replaceAll(/(?<=[^_])_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase()) : key;
}
