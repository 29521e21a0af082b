import {describe} from '../errors.ts';
import {checkShape} from '../schema/check-shape.ts';
import {isRecord} from '../schema/is-record.ts';
import {issueText} from '../schema/issue-text.ts';
import type {Parameters} from '../schema/parameters.ts';
import {MCPError} from './mcp-error.ts';

/**
 * What a server answered to a call, as a tool's result: its structured content where it has any, else its blocks of content, one by itself and
 * several as a list. Images, sounds and binary resources become Parts with `inlineData`, so they travel as media beside the response. Text
 * that only repeats the structured content, as the protocol asks of servers, is left out.
 *
 * An answer without any content is one of a tool that has nothing to say, as the SDK takes it too.
 *
 * @param shape - what the structured content has to fit, as far as it says which types and properties there must be
 * @throws MCPError (`MCP_TOOL_FAILED`) where the server says that the call failed, (`MCP_BAD_RESULT`) for what is no result
 */
export function callResult(tool: string, result: Record<string, unknown>, shape?: Parameters['shape']): unknown {
  const {content, structuredContent, isError} = result;
  const blocks = blocksOf(tool, result);
  if (isError === true) throw new MCPError('MCP_TOOL_FAILED', failureText(blocks) || `The tool \`${tool}\` failed and did not say why`);
  if (structuredContent === undefined || structuredContent === null) {
    // Answers of the first servers, before there was content.
    if (!Array.isArray(content) && 'toolResult' in result) return result['toolResult'];
    const values = blocks.map(valueOf);
    return {result: values.length > 1 ? values : (values[0] ?? null)};
  }
  const [issue] = shape ? checkShape(shape, structuredContent) : [];
  if (issue) {
    const message = `What the server answered to \`${tool}\` does not fit its own outputSchema: ${issueText(issue)}`;
    throw new MCPError('MCP_BAD_RESULT', message);
  }
  const others = blocks.filter((block) => !repeats(block, structuredContent)).map(valueOf);
  return others.length === 0 ? structuredContent : {structuredContent, content: others};
}

/** What a result may be without, or instead of, content. */
const KEYS: ReadonlySet<string> = new Set(['_meta', 'content', 'isError', 'structuredContent', 'toolResult']);

function blocksOf(tool: string, result: Record<string, unknown>): readonly Record<string, unknown>[] {
  const {content, structuredContent, toolResult, isError} = result;
  if (Array.isArray(content) && content.every(isRecord)) return content;
  const isMissing = content === undefined || content === null;
  const others = Object.keys(result).filter((key) => !KEYS.has(key));
  if (isMissing && (others.length === 0 || isError === true || (structuredContent ?? toolResult) !== undefined)) return [];
  const got = isMissing ? `an object with ${others.join(', ')}` : `content that is ${describe(content)}`;
  throw new MCPError('MCP_BAD_RESULT', `What the server answered to \`${tool}\` is no result: expected {content: [...]}, got ${got}`);
}

function failureText(blocks: readonly Record<string, unknown>[]): string {
  return blocks.flatMap(({text}) => (typeof text === 'string' ? text : [])).join('\n');
}

/** Whether a text says what the structured content says: all of it, or what is in it under its only key, as servers wrap what is no object. */
function repeats({text}: Record<string, unknown>, structured: unknown): boolean {
  if (typeof text !== 'string') return false;
  const members = isRecord(structured) ? Object.values(structured) : [];
  const same = members.length === 1 ? [structured, members[0]] : [structured];
  if (same.includes(text)) return true;
  try {
    const json = JSON.stringify(JSON.parse(text));
    return same.some((value) => JSON.stringify(value) === json);
  } catch {
    return false;
  }
}

/** A block of content in the words of a tool's result. What is not known is told as it came. */
function valueOf(block: Record<string, unknown>): unknown {
  const {type, text, resource} = block;
  if (type === 'text' && typeof text === 'string') return text;
  if (type === 'image' || type === 'audio') return mediaOf(block['data'], block['mimeType']);
  if (type !== 'resource' || !isRecord(resource)) return block;
  const {uri, mimeType, blob} = resource;
  return typeof blob === 'string' ? mediaOf(blob, mimeType, uri) : {uri, ...(mimeType !== undefined && {mimeType}), text: resource['text']};
}

/** A Part with media. Data that is none is said to be missing: a model's server would refuse it, and the whole session with it. */
function mediaOf(data: unknown, mimeType: unknown, displayName?: unknown): unknown {
  const type = typeof mimeType === 'string' && mimeType !== '' ? mimeType : 'application/octet-stream';
  const base64 = typeof data === 'string' ? data.replace(/^data:[^,]*,/, '').replaceAll(/\s/g, '') : '';
  if (!/^[\w+/-]+={0,2}$/.test(base64)) return {mimeType: type, error: 'The server sent no base64 data'};
  return {inlineData: {mimeType: type, data: base64, ...(typeof displayName === 'string' && {displayName})}};
}
