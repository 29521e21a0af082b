import type {Part} from '../content.ts';

// They say something about a part's data and are none.
const modifiers = new Set(['thought', 'mediaProcessing', 'mediaResolution', 'partMetadata', 'speechMetadata', 'videoMetadata']);

/**
 * Whether a part says nothing: no data, or an empty text. A server refuses such parts. A part with a thought signature always counts, even
 * if its text is empty: Gemini wants it back.
 */
export function isBlankPart(part: Part): boolean {
  return Object.entries(part).every(([key, value]) => value === undefined || value === null || value === '' || modifiers.has(key));
}
