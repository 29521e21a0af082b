import type {Schema} from '../content.ts';
import type {JsonSchema} from '../schema/schemas-within.ts';

type Node = Readonly<Record<string, unknown>>;

const MAX_LENGTH = 500;
const MAX_DEPTH = 4;

/** A schema in short, as TypeScript would write it: `{city: string, days?: integer, unit?: "C" | "F"}`. At most some 500 characters. */
export function summarizeSchema(schema: JsonSchema | Schema): string {
  const text = summarize(schema as Node, 0);
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH)}...` : text;
}

function summarize(node: Node, depth: number): string {
  const text = summarizeValue(node, depth);
  return node['nullable'] === true ? `${text} | null` : text;
}

function summarizeValue(node: Node, depth: number): string {
  const {$ref, enum: values, anyOf, allOf, type, properties, prefixItems, items} = node;
  const join = (nodes: readonly Node[], separator: string): string => nodes.map((item) => summarize(item, depth)).join(separator);
  if (typeof $ref === 'string') return $ref === '#' ? 'object' : $ref.slice($ref.lastIndexOf('/') + 1);
  if (Array.isArray(values)) return values.map((value) => JSON.stringify(value)).join(' | ');
  if (Array.isArray(anyOf)) return join(anyOf, ' | ');
  if (Array.isArray(allOf)) return join(allOf, ' & ');
  if (Array.isArray(type))
    return join(
      type.map((name: unknown) => ({...node, type: name})),
      ' | ',
    );
  const name = typeof type === 'string' ? type.toLowerCase() : properties ? 'object' : (prefixItems ?? items) ? 'array' : 'any';
  if (name === 'object' && properties !== undefined) return depth < MAX_DEPTH ? summarizeObject(node, depth) : name;
  return name === 'array' ? summarizeArray(node, depth) : name;
}

function summarizeObject(node: Node, depth: number): string {
  const required = (node['required'] ?? []) as readonly string[];
  const members = Object.entries(node['properties'] as Record<string, Node>).map(
    ([name, property]) => `${name}${required.includes(name) ? '' : '?'}: ${summarize(property, depth + 1)}`,
  );
  return `{${members.join(', ')}}`;
}

function summarizeArray({items, prefixItems}: Node, depth: number): string {
  if (Array.isArray(prefixItems)) return `[${prefixItems.map((item: Node) => summarize(item, depth + 1)).join(', ')}]`;
  if (items === undefined) return 'array';
  const item = summarize(items as Node, depth + 1);
  return item.includes(' | ') ? `(${item})[]` : `${item}[]`;
}
