// Recorded traffic with built-in tools: what an agent sends that has them is what was sent, and what came back comes out of its run whole.
import {describe, expect, test} from 'vitest';
import {StreamingMode, type BaseTool, type Content, type Event} from '../../lib/index.ts';
import {BuiltInCodeExecutor} from '../../lib/tools/built-in-code-executor.ts';
import {GOOGLE_SEARCH} from '../../lib/tools/google-search-tool.ts';
import {URL_CONTEXT} from '../../lib/tools/url-context-tool.ts';
import {collect, raw, type GeminiReply} from '../../lib/testing/index.ts';
import {bodyOf, headersOf, loadRecordings, type Recording} from '../gemini/recordings.ts';
import {wired} from '../reports/wired.ts';
import {expectValid} from '../stories/kit.ts';

interface Sent {
  readonly contents: readonly Content[];
  readonly tools: readonly object[];
}

const tools: readonly {readonly mark: string; readonly field: string; readonly tool: BaseTool}[] = [
  {mark: '"executableCode"', field: 'codeExecution', tool: new BuiltInCodeExecutor()},
  {mark: '"urlContextMetadata"', field: 'urlContext', tool: URL_CONTEXT},
  {mark: '"groundingMetadata"', field: 'googleSearch', tool: GOOGLE_SEARCH},
];

const recordings = loadRecordings().filter(
  ({raw: body, expect: {finish}}) => finish === 'STOP' && tools.some(({mark}) => body.includes(mark)),
);

const served = (recording: Recording): GeminiReply => raw(bodyOf(recording), {headers: headersOf(recording)});
const sentIn = (recording: Recording): Sent | undefined => (recording.requestBody as Sent | undefined) ?? undefined;

/** The tool that the recorded client had; where no request was recorded, the one that the reply tells of. */
function toolOf(recording: Recording): (typeof tools)[number] {
  const fields = sentIn(recording)?.tools?.flatMap((tool) => Object.keys(tool));
  const found = tools.find(({field, mark}) => (fields ? fields.includes(field) : recording.raw.includes(mark)));
  if (!found) throw new Error(`no tool for ${recording.id}`);
  return found;
}

const textOf = ({content}: Event): string => (content?.parts ?? []).map(({text = '', thought}) => (thought ? '' : text)).join('');

/** As a server spells them: clients send signatures in the alphabet for URLs. */
const inOneAlphabet = (contents: readonly Content[]): unknown =>
  JSON.parse(JSON.stringify(contents), (key, value: unknown) =>
    key === 'thoughtSignature' ? String(value).replaceAll('-', '+').replaceAll('_', '/') : value,
  );

describe.skipIf(recordings.length === 0)('recorded traffic with built-in tools', () => {
  test.each(recordings.map((recording) => [recording.id, recording] as const))('%s', async (_id, recording) => {
    const {tool, field} = toolOf(recording);
    const streamingMode = recording.api === 'streamGenerateContent' ? StreamingMode.SSE : StreamingMode.NONE;
    const gemini = {model: recording.model ?? 'gemini-2.5-flash', vertexai: recording.backend === 'vertex'};
    await using it = await wired({replies: [served(recording)], agent: {tools: [tool]}, gemini, runConfig: {streamingMode}});
    const {events, outcome} = await collect(it.stage.run());

    expect(it.server.requests.map(({refusal, body}) => [refusal, body.tools])).toEqual([[undefined, [{[field]: {}}]]]);
    if (sentIn(recording)) expect(it.server.requests[0]?.body.tools).toEqual(sentIn(recording)?.tools);
    const whole = events.filter(({partial}) => !partial);
    expect(whole.map(textOf)).toEqual([recording.expect.text]);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
    const ran = recording.raw.match(/"executableCode"/g)?.length ?? 0;
    const shown = (part: 'executableCode' | 'codeExecutionResult'): number =>
      whole[0]?.content?.parts?.filter((it) => it[part]).length ?? 0;
    expect([shown('executableCode'), shown('codeExecutionResult')]).toEqual([ran, ran]);
    expect(Boolean(whole[0]?.groundingMetadata)).toBe(recording.raw.includes('"groundingMetadata"'));
    expectValid(await it.stage.stored());
  });

  test('the second turn of a recorded conversation sends the code and its results back as the recorded client did', async () => {
    const [first, second] = [0, 1].map((n) => recordings.find(({id}) => id.endsWith(`/test_code_execution.yaml#${n}`)));
    if (!first || !second) throw new Error('the conversation is not recorded');
    const gemini = {model: first.model ?? ''};
    const agent = {tools: [new BuiltInCodeExecutor()]};
    const runConfig = {streamingMode: StreamingMode.NONE};
    await using it = await wired({replies: [served(first), served(second)], agent, gemini, runConfig});
    for (const recording of [first, second]) {
      const newMessage = sentIn(recording)?.contents.at(-1);
      await collect(it.stage.run('', {...(newMessage && {newMessage})}));
    }
    const contents = it.server.requests.map(({body}) => inOneAlphabet(body.contents ?? []));
    expect(contents).toEqual([first, second].map((recording) => inOneAlphabet(sentIn(recording)?.contents ?? [])));
  });
});
