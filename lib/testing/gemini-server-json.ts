import {fieldsOf} from './gemini-server-fields.ts';

/** What Google's JSON reader objects to. */
export interface FieldViolation {
  readonly field: string;
  readonly description: string;
}

type Backend = 'gemini' | 'vertex';

/**
 * Reads a request as a proto message does: names in camel or snake case, a single item for a list of one, nothing unknown. Gives the
 * message with camel-case names, and adds to `violations` what does not fit.
 */
export function readMessage(
  value: Readonly<Record<string, unknown>>,
  message: string,
  backend: Backend,
  violations: FieldViolation[],
  path = '',
): Record<string, unknown> {
  const fields = fieldsOf(message, backend);
  const read: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    const name = camelCase(key);
    const field = fields.get(name);
    const at = path === '' ? snakeCase(name) : `${path}.${snakeCase(name)}`;
    if (!field) violations.push(unknownName(key, path, 'Cannot find field.'));
    else if (item === null) continue;
    else if (field.list) read[name] = [item].flat().map((one, index) => readValue(one, field.type, backend, violations, `${at}[${index}]`));
    else if (Array.isArray(item) && field.type !== '*') {
      violations.push(unknownName(key, path, 'Proto field is not repeating, cannot start list.'));
    } else read[name] = readValue(item, field.type, backend, violations, at);
  }
  return read;
}

function readValue(value: unknown, type: string, backend: Backend, violations: FieldViolation[], path: string): unknown {
  if (type === '*') return value;
  const [, mapped] = /^map<(\w+)>$/.exec(type) ?? [];
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    if (type !== '') violations.push(invalidValue(path, mapped ? `${mapped}Entry` : type, value));
    return value;
  }
  if (type === '{}') return value;
  if (type === '') {
    violations.push(invalidValue(path, 'TYPE_STRING', value));
    return value;
  }
  const record = value as Readonly<Record<string, unknown>>;
  if (!mapped) return readMessage(record, type, backend, violations, path);
  const entries = Object.entries(record).map(([key, item], index) => [
    key,
    readValue(item, mapped, backend, violations, `${path}[${index}].value`),
  ]);
  return Object.fromEntries(entries);
}

function unknownName(name: string, path: string, why: string): FieldViolation {
  const at = path === '' ? '' : ` at '${path}'`;
  return {field: path, description: `Invalid JSON payload received. Unknown name "${name}"${at}: ${why}`};
}

function invalidValue(path: string, type: string, value: unknown): FieldViolation {
  const [name, shown] = [type === '{}' ? 'google.protobuf.Struct' : type, JSON.stringify(value)];
  return {field: path, description: `Invalid value at '${path}' (type.googleapis.com/${name}), ${shown}`};
}

function camelCase(name: string): string {
  return name.replaceAll(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function snakeCase(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}
