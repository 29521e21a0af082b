import {describe, expect, test} from 'vitest';
import {
  BaseTool,
  FunctionTool,
  HookError,
  InvalidOptionError,
  type LlmRequest,
  type Part,
  type ToolProcessLlmRequest,
} from '../../lib/index.ts';
import {BuiltInCodeExecutor} from '../../lib/tools/built-in-code-executor.ts';
import {GOOGLE_SEARCH, GoogleSearchTool} from '../../lib/tools/google-search-tool.ts';
import {URL_CONTEXT} from '../../lib/tools/url-context-tool.ts';
import {answer, calls, chunks, functionCalls, ScriptedLlm} from '../../lib/testing/index.ts';
import {liveStage, bye} from '../live/kit.ts';
import {wired} from '../reports/wired.ts';
import {expectValid, lines, stage} from '../stories/kit.ts';
import {toolContext} from './tool-context.ts';

const getWeather = new FunctionTool({
  name: 'get_weather',
  description: 'The weather.',
  parameters: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
  execute: ({city}) => `It rains in ${String(city)}`,
});
const declared = {
  functionDeclarations: [
    {
      name: 'get_weather',
      description: 'The weather.',
      parametersJsonSchema: {type: 'object', properties: {city: {type: 'string'}}, required: ['city']},
    },
  ],
};
const CODE_EXECUTION = new BuiltInCodeExecutor();

describe('on the wire', () => {
  test.each([
    [[GOOGLE_SEARCH], [{googleSearch: {}}]],
    [[URL_CONTEXT], [{urlContext: {}}]],
    [[CODE_EXECUTION], [{codeExecution: {}}]],
    [
      [URL_CONTEXT, GOOGLE_SEARCH, CODE_EXECUTION],
      [{urlContext: {}}, {googleSearch: {}}, {codeExecution: {}}],
    ],
  ])('built-in tools are switched on in every request, and nothing else is (%#)', async (tools, sent) => {
    await using it = await wired({replies: [answer('One.'), answer('Two.')], agent: {tools}});
    for (const text of ['first', 'second']) await lines(it.stage.run(text));
    expect(it.server.requests.map(({refusal, body}) => [refusal, body.tools, body['toolConfig']])).toEqual([
      [undefined, sent, undefined],
      [undefined, sent, undefined],
    ]);
  });

  test('with functions on Gemini 3 the request also asks for what the server did', async () => {
    const gemini = {model: 'gemini-3-flash-preview'};
    const replies = [calls([{name: 'get_weather', args: {city: 'Paris'}}]), answer('It rains.')];
    await using it = await wired({replies, gemini, agent: {tools: [GOOGLE_SEARCH, getWeather]}});
    expect((await lines(it.stage.run())).at(-1)).toBe('root: "It rains."');
    const expected = [undefined, [declared, {googleSearch: {}}], {includeServerSideToolInvocations: true}];
    expect(it.server.requests.map(({refusal, body}) => [refusal, body.tools, body['toolConfig']])).toEqual([expected, expected]);
  });

  test('what the server did is shown, stored and sent back as it came, and none of it is run here', async () => {
    const gemini = {model: 'gemini-3-flash-preview'};
    const parts: Part[] = [
      {toolCall: {id: 'a', toolType: 'GOOGLE_SEARCH_WEB', args: {queries: ['northernmost city']}} as never, thoughtSignature: 'c2lnMQ=='},
      {
        toolResponse: {id: 'a', toolType: 'GOOGLE_SEARCH_WEB', response: {search_suggestions: '<div/>'}} as never,
        thoughtSignature: 'c2lnMg==',
      },
      {functionCall: {id: 'b', name: 'get_weather', args: {city: 'Longyearbyen'}}, thoughtSignature: 'c2lnMw=='},
    ];
    await using it = await wired({replies: [chunks([parts]), answer('It rains.')], gemini, agent: {tools: [GOOGLE_SEARCH, getWeather]}});
    const said = await lines(it.stage.run());
    expect(said.filter((text) => !text.endsWith('[partial]')).slice(1)).toEqual([
      'root: get_weather={"result":"It rains in Longyearbyen"}',
      'root: "It rains."',
    ]);
    const stored = await it.stage.stored();
    expectValid(stored);
    expect(stored[1]?.content?.parts).toEqual(parts);
    expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined]);
    expect(it.server.requests[1]?.body.contents?.slice(1)).toEqual([
      {role: 'model', parts},
      {role: 'user', parts: [{functionResponse: {id: 'b', name: 'get_weather', response: {result: 'It rains in Longyearbyen'}}}]},
    ]);
  });

  test('code that the server ran is a part of the reply that ends the run, and goes back with the next turn', async () => {
    const parts: Part[] = [
      {executableCode: {language: 'PYTHON', code: 'print(6 * 7)'} as never},
      {codeExecutionResult: {outcome: 'OUTCOME_OK', output: '42\n'} as never},
      {text: 'It is 42.'},
    ];
    await using it = await wired({replies: [chunks([parts]), answer('Yes.')], agent: {tools: [CODE_EXECUTION]}});
    const run = it.stage.run('6 times 7?');
    await lines(run);
    expect(await run.settled).toMatchObject({kind: 'done', llmCalls: 1});
    await lines(it.stage.run('Sure?'));
    expect(it.server.requests[1]?.body.contents).toEqual([
      {role: 'user', parts: [{text: '6 times 7?'}]},
      {role: 'model', parts},
      {role: 'user', parts: [{text: 'Sure?'}]},
    ]);
  });

  test('with functions on an older model nothing is sent: the run ends with an error that says what to do', async () => {
    await using it = await wired({replies: [answer('unused')], agent: {tools: [getWeather, CODE_EXECUTION]}});
    const error: unknown = await lines(it.stage.run()).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(HookError);
    expect((error as HookError).cause).toBeInstanceOf(InvalidOptionError);
    expect((error as HookError).message).toMatchInlineSnapshot(
      `"\`processLlmRequest\` of \`root\` threw: Expected \`tools\` to be only \`code_execution\` without functions on \`gemini-2.5-flash\`, whose server refuses both together; take gemini-3 or later, or an agent of its own for one of them, got "get_weather" (string)"`,
    );
    expect(it.server.requests).toEqual([]);
    expectValid(await it.stage.stored());
  });

  test('in a live run they stand beside functions, on any model', async () => {
    await using it = await liveStage({agent: {tools: [getWeather, GOOGLE_SEARCH]}});
    const {session, reading} = await it.talk();
    await it.finish(session, reading);
    expect(reading.lines).toEqual(bye);
    expect(session.setup).toMatchObject({tools: [{functionDeclarations: [{name: 'get_weather'}]}, {googleSearch: {}}]});
  });
});

/** What a tool makes of a request to a model. */
async function shaped(model: string | undefined, config: LlmRequest['config'] = {}, live = false): Promise<LlmRequest> {
  const llmRequest: LlmRequest = {...(model !== undefined && {model}), contents: [], config, ...(live && {liveConnectConfig: {}})};
  await new GoogleSearchTool().processLlmRequest({llmRequest, toolContext: toolContext()});
  return llmRequest;
}

test.each([
  'gemini-2.0-flash',
  'gemini-2.5-pro',
  'gemini-3-pro-preview',
  'gemini-10-pro',
  'gemini-flash-latest',
  'models/gemini-2.5-flash',
  'projects/p/locations/l/publishers/google/models/gemini-2.5-flash',
  'projects/p/locations/l/endpoints/7',
  'tunedModels/mine',
  undefined,
])('%s takes built-in tools', async (model) => {
  expect((await shaped(model)).config.tools).toEqual([{googleSearch: {}}]);
});

test.each(['gemini-1.5-pro', 'gemma-3-27b-it', 'scripted', 'my-gemini-2.5', 'claude', ''])(
  '%s does not take built-in tools',
  async (model) => {
    await expect(shaped(model)).rejects.toThrow(
      /^Expected `model` to be a Gemini model from gemini-2 on, as its server runs `google_search`, got ".*" \(string\)$/,
    );
  },
);

test.each([
  ['gemini-2.5-flash', false, 'refused'],
  ['models/gemini-2.0-flash', false, 'refused'],
  ['gemini-2.5-flash', true, undefined],
  ['gemini-live-2.5-flash-preview', true, undefined],
  ['gemini-3-flash-preview', false, true],
  ['gemini-flash-latest', false, true],
  ['projects/p/locations/l/endpoints/7', false, true],
])('functions beside them on %s, live %s: %s', async (model, live, expected) => {
  const config = {tools: [declared], toolConfig: {functionCallingConfig: {mode: 'AUTO' as never}}};
  const shaping = shaped(model, config, live).then(
    ({config: {tools, toolConfig}}) => {
      expect(tools).toEqual([declared, {googleSearch: {}}]);
      expect(toolConfig?.functionCallingConfig).toEqual({mode: 'AUTO'});
      return toolConfig?.includeServerSideToolInvocations;
    },
    (error: unknown) => (error instanceof InvalidOptionError && error.option === 'tools' ? 'refused' : error),
  );
  expect(await shaping).toBe(expected);
});

test('what another tool has put into a request stays, and no request has anything of another', async () => {
  class MapsTool extends BaseTool {
    override async runAsync(): Promise<void> {}

    override async processLlmRequest({llmRequest}: ToolProcessLlmRequest): Promise<void> {
      llmRequest.config.tools = [{googleMaps: {}}];
    }
  }
  const model = new ScriptedLlm({model: 'gemini-2.5-flash', steps: ['One.', 'Two.']});
  const it = await stage({agent: {model, tools: [new MapsTool({name: 'maps', description: 'Maps.'}), GOOGLE_SEARCH]}});
  for (const text of ['first', 'second']) await lines(it.run(text));
  expect(model.requests.map(({config}) => config.tools)).toEqual([1, 2].map(() => [{googleMaps: {}}, {googleSearch: {}}]));
});

test('a model that calls a built-in tool as a function is told that it is none, and the run goes on', async () => {
  const steps = [functionCalls({id: '1', name: 'google_search', args: {query: 'x'}}), 'Sorry.'];
  const it = await stage({agent: {model: new ScriptedLlm({model: 'gemini-2.5-flash', steps}), tools: [GOOGLE_SEARCH]}});
  expect(await lines(it.run())).toEqual([
    'root: google_search({"query":"x"})',
    'root: google_search={"error":"`google_search` is no function: it runs by itself while you answer"}',
    'root: "Sorry."',
  ]);
});
