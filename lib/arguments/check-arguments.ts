import type {Schema} from '../content.ts';
import {checkShape} from '../schema/check-shape.ts';
import type {JsonSchema} from '../schema/schemas-within.ts';
import {invalidArguments} from './invalid-arguments.ts';

/**
 * The arguments of a call, where they have the shape of its schema.
 *
 * @throws {@link InvalidArgumentsError}
 */
export function checkArguments(args: Record<string, unknown>, shape: JsonSchema | Schema): Record<string, unknown> {
  const issues = checkShape(shape, args);
  if (issues.length > 0) throw invalidArguments(issues, shape);
  return args;
}
