/** A content as the server has read it. */
export interface WireContent {
  readonly role?: string;
  readonly parts?: readonly WirePart[];
}

interface WirePart {
  readonly functionCall?: {readonly id?: string; readonly name?: string};
  readonly functionResponse?: {readonly id?: string; readonly name?: string};
  readonly thoughtSignature?: string;
  readonly [field: string]: unknown;
}

/** Fields that hold a part's data; a part has one of them. */
const dataFields = [
  'text',
  'inlineData',
  'fileData',
  'functionCall',
  'functionResponse',
  'executableCode',
  'codeExecutionResult',
  'toolCall',
  'toolResponse',
] as const;

/** What Google says against a conversation; `undefined` where it takes it. */
export function contentsFlaw(contents: readonly WireContent[], wantsSignatures: boolean): string | undefined {
  return emptyFlaw(contents) ?? roleFlaw(contents) ?? pairingFlaw(contents) ?? (wantsSignatures ? signatureFlaw(contents) : undefined);
}

function emptyFlaw(contents: readonly WireContent[]): string | undefined {
  if (contents.length === 0) return '* GenerateContentRequest.contents: contents is not specified\n';
  for (const [at, {parts = []}] of contents.entries()) {
    const path = `GenerateContentRequest.contents[${at}].parts`;
    if (parts.length === 0) return `* ${path}: contents.parts must not be empty.\n`;
    for (const [index, part] of parts.entries()) {
      if (dataFields.some((field) => part[field] !== undefined)) {
        for (const [field, named] of [
          ['function_call', part.functionCall],
          ['function_response', part.functionResponse],
        ] as const) {
          if (named && !named.name) return `* ${path}[${index}].${field}.name: Name cannot be empty.\n`;
        }
      } else return `* ${path}[${index}].data: required oneof field 'data' must have one initialized field\n`;
    }
  }
  return undefined;
}

function roleFlaw(contents: readonly WireContent[]): string | undefined {
  if (contents.some(({role}) => role !== undefined && role !== 'user' && role !== 'model')) return 'Please use a valid role: user, model.';
  const [first] = contents;
  if (first?.role !== 'model') return undefined;
  return callsIn(first).length > 0
    ? 'Please ensure that function call turn comes immediately after a user turn or after a function response turn.'
    : 'Please ensure that multiturn requests start with a user role.';
}

/** Every turn of calls is answered by the very next content, in full and by the same ids. */
function pairingFlaw(contents: readonly WireContent[]): string | undefined {
  for (const [at, content] of contents.entries()) {
    const asked = callsIn(contents[at - 1]);
    const given = responsesIn(content);
    if (given.length > 0 && asked.length === 0) {
      return 'Please ensure that function response turn comes immediately after a function call turn.';
    }
    if (given.length !== asked.length) return countFlaw;
    // By place where a side has no id; an id that only one side has fits nothing.
    const ids = new Set(asked.map(({id}) => id));
    if (given.some(({id}) => !ids.has(id))) return 'functionResponse.id does not match functionCall.id';
    if (new Set(given.map(({id}) => id)).size !== ids.size) return 'functionResponse.id does not match functionCall.id';
  }
  return callsIn(contents.at(-1)).length > 0 ? countFlaw : undefined;
}

const countFlaw =
  'Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.';

/** In the turn under way, the first call of each step carries the signature that it came with. */
function signatureFlaw(contents: readonly WireContent[]): string | undefined {
  const begin = contents.findLastIndex((content) => content.role !== 'model' && responsesIn(content).length === 0);
  for (const [at, content] of contents.entries()) {
    if (at <= begin) continue;
    const first = content.parts?.find((part) => part.functionCall);
    if (!first || first.thoughtSignature) continue;
    return (
      'Function call is missing a thought_signature in functionCall parts. This is required for tools to work correctly, and missing ' +
      'thought_signature may lead to degraded model performance. Additional data, ' +
      `function call \`default_api:${first.functionCall?.name}\` , position ${at + 1}.`
    );
  }
  return undefined;
}

/** The calls that the next content has to answer: what a server-side tool has answered in the same content is done. */
function callsIn({parts = []}: WireContent = {}): {id?: string}[] {
  return parts.flatMap((part) => part.functionCall ?? []).slice(answeredWithin(parts));
}

/** By their kind alone: whether a content with responses is the user's or, from a server-side tool, the model's, does not matter. */
function responsesIn({parts = []}: WireContent): {id?: string}[] {
  return parts.flatMap((part) => part.functionResponse ?? []).slice(answeredWithin(parts));
}

function answeredWithin(parts: readonly WirePart[]): number {
  return Math.min(parts.filter((part) => part.functionCall).length, parts.filter((part) => part.functionResponse).length);
}
