import type {Part} from '../content.ts';

const NONE: ReadonlySet<Part> = new Set();

/**
 * Of the parts of one content those that are a matter of the model's server alone: calls of tools that the server runs itself, such as MCP
 * servers that it was given, and behind each the response that it got. Nobody else has to run or to answer such a call.
 */
export function servedParts(parts: readonly Part[]): ReadonlySet<Part> {
  if (!parts.some((part) => part.functionResponse)) return NONE;
  const served = new Set<Part>();
  const open: Part[] = [];
  for (const part of parts) {
    if (part.functionCall) open.push(part);
    if (!part.functionResponse) continue;
    const {name} = part.functionResponse;
    const at = open.findIndex(({functionCall}) => functionCall?.name === name);
    // By name and order: the ids are the server's, while a call may have got one of ours since.
    for (const call of at < 0 ? [] : open.splice(at, 1)) served.add(call).add(part);
  }
  return served;
}
