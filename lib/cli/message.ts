import type {Content, FunctionCall} from '../content.ts';
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
  const value = parsed(line);
  if (typeof value === 'string') return textMessage(value);
  return isRecord(value) && Array.isArray(value['parts']) ? value : textMessage(line);
}

/** What a person typed, as the answer to a call that waits: a JSON object is the response, any other JSON or text its `result`. */
export function answerMessage({id, name}: FunctionCall, line: string): Content {
  const value = parsed(line);
  const response = isRecord(value) ? value : {result: value ?? line};
  const functionResponse = {...(id !== undefined && {id}), ...(name !== undefined && {name}), response};
  return {role: 'user', parts: [{functionResponse}]};
}

/** The value of a text that is JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return undefined;
  }
}
