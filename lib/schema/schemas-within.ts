import {expectOption} from '../errors.ts';
import {isRecord} from './is-record.ts';

/** A JSON Schema, or a part of one. */
export interface JsonSchema {
  readonly [keyword: string]: unknown;
}

/** The types of JSON Schema. A genai Schema writes them in upper case. */
export const JSON_TYPES: readonly unknown[] = ['array', 'boolean', 'integer', 'null', 'number', 'object', 'string'];

/**
 * The schemas directly within a schema of either kind, each with its path.
 *
 * @throws {@link InvalidOptionError} where something else is in their place
 */
export function schemasWithin(schema: JsonSchema, path: string): [schema: unknown, path: string][] {
  return Object.entries(schema).flatMap(([keyword, value]): [unknown, string][] => {
    const at = `${path}.${keyword}`;
    switch (keyword) {
      case 'properties':
      case '$defs':
      case 'definitions':
        expectOption(isRecord(value), at, 'schemas by name', value);
        return Object.entries(value).map(([name, child]) => [child, `${at}.${name}`]);
      case 'allOf':
      case 'anyOf':
      case 'oneOf':
      case 'prefixItems':
        expectOption(Array.isArray(value), at, 'a list of schemas', value);
        return value.map((child: unknown, index) => [child, `${at}[${index}]`]);
      case 'items':
      case 'additionalProperties':
        return [[value, at]];
      default:
        return [];
    }
  });
}
