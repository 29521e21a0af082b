import {InvalidOptionError} from '../errors.ts';
import {checkShape} from '../schema/check-shape.ts';
import {isRecord} from '../schema/is-record.ts';
import {issueText} from '../schema/issue-text.ts';
import {JSON_TYPES, schemasWithin} from '../schema/schemas-within.ts';

/**
 * Refuses an answer to a request for input that does not have the form that was asked for. What is no object stands in `result`.
 *
 * @param asked - the arguments of the request
 * @throws {@link InvalidOptionError}
 */
export function checkInput(response: unknown, asked: Readonly<Record<string, unknown>> | undefined): void {
  const schema = asked?.['response_schema'];
  if (!isRecord(schema)) return;
  const isWrapped = isRecord(response) && Object.keys(response).length === 1 && 'result' in response;
  const wrong = isWrapped && issuesOf(schema, response['result']).length === 0 ? [] : issuesOf(schema, response);
  if (wrong.length === 0) return;
  throw new InvalidOptionError('request.newMessage', `an answer that fits its \`response_schema\` (${wrong.join('; ')})`, response);
}

function issuesOf(schema: Record<string, unknown>, value: unknown): string[] {
  try {
    return isSchema(schema) ? checkShape(schema, value).map(issueText) : [];
  } catch {
    // The model wrote the schema. One that is none asks for nothing.
    return [];
  }
}

/** Whether all types in it are types of JSON: no value is of any other. */
function isSchema(schema: unknown): boolean {
  if (!isRecord(schema)) return typeof schema === 'boolean';
  const types = [schema['type'] ?? []].flat();
  return (
    types.every((type) => JSON_TYPES.includes(String(type).toLowerCase())) && schemasWithin(schema, '').every(([child]) => isSchema(child))
  );
}
