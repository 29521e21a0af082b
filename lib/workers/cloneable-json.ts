import {isRecord} from '../schema/is-record.ts';
import type {MediaPart} from '../tools/media-part.ts';
import {ResponseJson} from '../tools/response-json.ts';
import {toFunctionResponse} from '../tools/tool-result.ts';

/**
 * What a body gave, for the other thread to write as JSON once more: so that there it comes to what it would have come to without a thread,
 * media stay where they are. What no message carries is refused: functions and symbols, which JSON would leave out.
 */
export function toCloneable(value: unknown, tool: string): unknown {
  const {response} = toFunctionResponse(value, new CloneableJson(tool));
  const {result, ...others} = response;
  // The other thread puts it into a `result` again: within two of them, what just fits would be one value too many and a level too deep.
  if (result === undefined || result === null || Object.keys(others).length > 0) return response;
  // As a Map, since an object would be taken for the whole response.
  return isRecord(result) ? new Map(Object.entries(result)) : result;
}

class CloneableJson extends ResponseJson {
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
