/** A deep copy of plain JSON data. Values that are not plain (class instances, functions) are kept as they are. */
export function copyJson<T>(value: T): T {
  return copy(value, false) as T;
}

/**
 * A deep copy that nobody can change: what a store keeps and hands out again, so that isolation costs one copy and not one per reader.
 * Keys whose value is `undefined` are left out, as JSON would.
 */
export function frozenCopy<T>(value: T): T {
  return copy(value, true) as T;
}

function copy(value: unknown, freeze: boolean): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    const items: unknown[] = value.map((item) => copy(item, freeze));
    return freeze ? Object.freeze(items) : items;
  }
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== null) return value;
  const record: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    const item = (value as Record<string, unknown>)[key];
    if (item === undefined) continue;
    // A plain assignment to `__proto__` would change the copy's prototype and lose the key.
    if (key === '__proto__') Object.defineProperty(record, key, {value: copy(item, freeze), enumerable: true, configurable: true, writable: true});
    else record[key] = copy(item, freeze);
  }
  return freeze ? Object.freeze(record) : record;
}
