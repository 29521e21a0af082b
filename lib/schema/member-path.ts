/** The path of a member of what `path` leads to, as it would stand in a program: `a.b[0]["odd key"]`. */
export function memberPath(path: string, key: PropertyKey): string {
  if (typeof key === 'number') return `${path}[${key}]`;
  const name = String(key);
  if (!/^[A-Za-z_$][\w$]*$/.test(name)) return `${path}[${JSON.stringify(name)}]`;
  return path === '' ? name : `${path}.${name}`;
}
