import type {Part} from '../content.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';

/** @throws {@link InvalidOptionError} for parts that no user could say, and where nothing is said at all */
export function checkUserParts(parts: readonly Part[], option: string): void {
  for (const part of parts) {
    const isPart =
      isRecord(part) &&
      Object.values(part).some((value) => value !== undefined) &&
      (part['text'] === undefined || typeof part['text'] === 'string');
    expectOption(isPart, option, 'parts such as {text: "..."}', part);
    // What only a model says would stand in the history as if it had.
    expectOption(part['functionCall'] === undefined, option, 'parts of a user, without functionCall', part);
  }
  const isEmpty = parts.every((part) => part.text === '' && Object.keys(part).length === 1);
  expectOption(!isEmpty, option, 'a message that is not empty', '');
}
