import type {FunctionResponse} from '../content.ts';
import {asMediaPart} from './media-part.ts';
import {errorText, isRecord, ResponseJson} from './response-json.ts';

/** The answer to a call that was ended before it began. */
export const NOT_STARTED: Readonly<Record<string, unknown>> = Object.freeze({error: 'cancelled', started: false});

/** What a call's function response says: one JSON object, and the media that travel beside it. */
export interface ToolResponse {
  readonly response: Record<string, unknown>;
  /** Where the result holds media; they are named in `response` by their place here, counted from 1. */
  readonly parts?: NonNullable<FunctionResponse['parts']>;
}

/**
 * What a tool gave, as the model is told of it: a plain object as it is, an Error as `{error: message}`, anything else as
 * `{result: value}`. Nothing (`undefined`, `null`, and what JSON has no word for: functions, symbols) is `{result: null}`, since an empty
 * object does not tell a model that the tool has run and had nothing to say.
 *
 * The response is new, JSON all through, and valid whatever came; {@link ResponseJson} says how values are written. A value that throws
 * when it is read gives an `{error: ...}`. Given a response that it made itself, it changes nothing.
 *
 * Media: wherever a genai Part with `inlineData` or `fileData` stands in the result (the result itself, an item of a list, a field), it
 * becomes one of `parts`, and `{attachment: 1, mimeType, displayName}` stands in its place.
 *
 * @param json - writes the data
 *
 * @example
 * ```ts
 * import {FunctionTool} from 'sluice';
 *
 * // The model is sent {result: ['Sales by month', {attachment: 1, mimeType: 'image/png'}]}, and the picture beside it.
 * const chart = new FunctionTool({
 *   name: 'chart',
 *   description: 'Draws the sales of the year.',
 *   execute: () => ['Sales by month', {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}}],
 * });
 * ```
 */
export function toFunctionResponse(value: unknown, json: ResponseJson = new ResponseJson()): ToolResponse {
  try {
    const written = json.write(value);
    const response = isResponse(value, json) ? (written as Record<string, unknown>) : {result: written ?? null};
    return json.parts.length > 0 ? {response, parts: json.parts} : {response};
  } catch (thrown) {
    return {response: {error: `The tool ran, but its result cannot be written as JSON: ${toErrorResponse(thrown).error}`}};
  }
}

/** What a tool threw, as the model is told of it: what it says, whatever was thrown; never a stack, never nothing. */
export function toErrorResponse(thrown: unknown): {error: string} {
  try {
    return {error: textOf(thrown) || 'The tool failed and did not say why'};
  } catch {
    return {error: 'The tool failed, and what it threw cannot be read'};
  }
}

/** Whether what was written is a response as it stands. */
function isResponse(value: unknown, {parts}: ResponseJson): boolean {
  if (value instanceof Error) return true;
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false;
  return isRecord(value) && (parts.length === 0 || !asMediaPart(value));
}

function textOf(thrown: unknown): string {
  if (thrown === undefined || thrown === null) return `The tool threw ${thrown}`;
  if (
    typeof thrown !== 'object' ||
    thrown instanceof Error ||
    ('message' in thrown && typeof thrown.message === 'string' && thrown.message !== '')
  )
    return errorText(thrown);
  return JSON.stringify(new ResponseJson().write(thrown));
}
