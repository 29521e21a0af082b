import type {Content} from '../content.ts';
import {isRecord} from '../schema/is-record.ts';

/** What a person typed, as a message. */
export function textMessage(text: string): Content {
  return {role: 'user', parts: [{text}]};
}

/**
 * A line of `--json`: `{"parts": [...]}` is a message as it stands (files, answers to calls), a JSON string is its text, and anything else
 * is text itself.
 */
export function jsonMessage(line: string): Content {
  const value = parsedJson(line);
  if (typeof value === 'string') return textMessage(value);
  return isRecord(value) && Array.isArray(value['parts']) ? value : textMessage(line);
}

/** The value of a text that is JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
