/** A value in a message. */
export function tell(value: unknown): string {
  if (value instanceof Error) return `${value.name}(${JSON.stringify(value.message)})`;
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}
