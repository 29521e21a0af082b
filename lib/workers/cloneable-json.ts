import type {MediaPart} from '../tools/media-part.ts';
import {ResponseJson} from '../tools/response-json.ts';

/**
 * Writes results as JSON, for the other thread to write once more: so that there they come to what they would have come to without a
 * thread, media stay where they are. What no message carries is refused: functions and symbols, which JSON would leave out.
 */
export class CloneableJson extends ResponseJson {
  readonly #tool: string;

  constructor(tool: string) {
    super();
    this.#tool = tool;
  }

  override write(value: unknown, key = ''): unknown {
    if (typeof value !== 'function' && typeof value !== 'symbol') return super.write(value, key);
    const place = key && ` in \`${key}\``;
    throw new TypeError(`the tool \`${this.#tool}\` gave a ${typeof value}${place}, which cannot leave its worker thread`);
  }

  protected override attach({part, displayName}: MediaPart): Record<string, unknown> {
    const {inlineData, fileData} = part;
    return inlineData ? {inlineData: {...inlineData, displayName}} : {fileData: {...fileData, displayName}};
  }
}
