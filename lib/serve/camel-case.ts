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

/** Clients of ADK write keys in snake_case or in camelCase. A key that comes in both ways is taken as camelCase says. */
export function toCamelCase(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(toCamelCase);
  return isRecord(value) ? camelKeys(value) : value;
}

/** As {@link toCamelCase}, for an object. */
export function camelKeys(record: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(record)) {
    const name = key.replaceAll(/(?<=[^_])_+([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    if (name !== key && Object.hasOwn(record, name)) continue;
    setOwn(result, name, OPAQUE.has(name) ? value : toCamelCase(value));
  }
  return result;
}
