import type {FunctionResponse, Part} from '../../content.ts';

/**
 * What another agent said and did, as the user would tell it: in words, with its media. Its thoughts stay its own, and so do its
 * signatures, which no other model takes.
 */
export function narrate(author: string, parts: readonly Part[]): Part[] {
  const told: Part[] = [];
  let said = '';
  const endSpeech = (): void => {
    if (said) told.push({text: `[${author}] said: ${said}`});
    said = '';
  };
  for (const part of parts) {
    if (part.thought) continue;
    if (part.text) {
      said += part.text;
      continue;
    }
    const other = narrateOther(author, part);
    if (other.length === 0) continue;
    endSpeech();
    told.push(...other);
  }
  endSpeech();
  return told;
}

/** What another agent's call came to. Media in the response follow as parts of their own. */
export function narrateResponse(author: string, {name, response, parts}: FunctionResponse): Part[] {
  return [
    {text: `[${author}] got from \`${name}\`: ${JSON.stringify(response ?? {})}`},
    ...(parts ?? []).flatMap((part) => mediaOf(part as Part)),
  ];
}

function narrateOther(author: string, part: Part): Part[] {
  const {functionCall, functionResponse, executableCode, codeExecutionResult} = part;
  if (functionCall) {
    return [{text: `[${author}] called tool \`${functionCall.name}\` with ${JSON.stringify(functionCall.args ?? {})}`}];
  }
  if (functionResponse) return narrateResponse(author, functionResponse);
  if (executableCode) return [{text: `[${author}] ran code:\n${executableCode.code ?? ''}`}];
  if (codeExecutionResult)
    return [{text: `[${author}] got from the code: ${codeExecutionResult.output ?? codeExecutionResult.outcome ?? ''}`}];
  return mediaOf(part);
}

function mediaOf({inlineData, fileData}: Part): Part[] {
  if (inlineData) return [{inlineData}];
  return fileData ? [{fileData}] : [];
}
