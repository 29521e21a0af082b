import type {Content} from '../content.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';

/**
 * What a hook says in an agent's place, checked. A call in it would never be answered.
 *
 * @param what - names it in the error
 * @throws {@link InvalidOptionError} for what is no content
 */
export function checkContent(content: unknown, what: string): asserts content is Content {
  const parts = isRecord(content) ? content['parts'] : undefined;
  const says = (part: unknown): boolean => isRecord(part) && !part['functionCall'] && !part['functionResponse'];
  expectOption(Array.isArray(parts) && parts.every(says), what, 'a content, {parts: [...]}, without function calls and responses', content);
}
