// What people reported about structured output: loops that do not end, output that nobody checked, and calls that are lost beside it. More
// of it is proved in `tests/flow/output-schema`.
import {describe, expect, test} from 'vitest';
import {FunctionTool, LlmAgent, LlmCallsLimitExceededError, ParallelAgent, SequentialAgent, type LlmAgentConfig} from 'sluice';
import {ReflectAndRetryToolPlugin} from 'sluice/plugins';
import {answer, calls, collect, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {expectValid, line, lines, stage, type Stage, type StageOptions} from '../stories/kit.ts';
import {scripted} from './desk.ts';
import {wired} from './wired.ts';

const city = z.object({city: z.string(), people: z.int()});
const PARIS = {city: 'Paris', people: 2_100_000};
const give = (args: Record<string, unknown>): ScriptedStep => functionCalls({name: 'set_model_response', args});
const look = functionCalls({name: 'look_up'});
const lookUp = new FunctionTool({name: 'look_up', description: 'Looks up.', execute: () => 'found'});

const asking = (steps: readonly ScriptedStep[], agent: Partial<LlmAgentConfig> = {}, more: Partial<StageOptions> = {}): Promise<Stage> =>
  stage({steps, agent: {outputSchema: city, tools: [lookUp], ...agent}, ...more});

describe('an outputSchema with tools', () => {
  // google/adk-js#411, #412; google/adk-python#3413: the real backend answers 400 to JSON mode with functions, or calls them for ever.
  test('asks for no JSON mode on the wire, and the run ends on the first output that fits', async () => {
    await using it = await wired({
      agent: {outputSchema: city, tools: [lookUp]},
      replies: [calls([{name: 'look_up'}]), calls([{name: 'set_model_response', args: PARIS}]), answer('never asked')],
    });
    const {events, outcome} = await collect(it.stage.run());
    expect(events.at(-1)?.output).toEqual(PARIS);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 2});
    for (const {body, refusal} of it.server.requests) {
      const {generationConfig = {}, tools = []} = body as {generationConfig?: object; tools?: {functionDeclarations: {name: string}[]}[]};
      expect(Object.keys(generationConfig).filter((key) => key.startsWith('response'))).toEqual([]);
      expect(tools.flatMap(({functionDeclarations}) => functionDeclarations.map(({name}) => name))).toEqual([
        'look_up',
        'set_model_response',
      ]);
      expect(refusal).toBeUndefined();
    }
  });

  // google/adk-python#5463, #3413: a model that never gives its output.
  test('whose model goes on calling its tools is stopped at the limit, and the session stays valid', async () => {
    const it = await asking(Array.from({length: 60}, () => look));
    const {error, outcome} = await collect(it.run());
    expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 50});
    expectValid(await it.stored());
  });

  // google/adk-python PR#5057, PR#6368, #2654; google/adk-java#1430
  test('tells the model what is wrong with its output, and takes the next one', async () => {
    const it = await asking([give({city: 'Paris', people: null}), give(PARIS)], {outputKey: 'capital'});
    const {events} = await collect(it.run());
    const [{response} = {}] = it.model.requests[1]?.contents.at(-1)?.parts?.map(({functionResponse}) => functionResponse ?? {}) ?? [];
    expect(response?.['error']).toMatch(/people: .*Expected: \{city: string, people: integer\}/);
    expect(events.filter(({output}) => output !== undefined).map(({output}) => output)).toEqual([PARIS]);
    expect(await it.state()).toEqual({capital: PARIS});
  });

  // google/adk-python#4525: the plugin's answer to the failure is none of the output.
  test('is not fooled by a plugin that answers the failure', async () => {
    const runner = {plugins: [new ReflectAndRetryToolPlugin({maxRetries: 3})]};
    const it = await asking([give({city: null}), give(PARIS)], {outputKey: 'capital'}, {runner});
    const {events} = await collect(it.run());
    expect(events.at(-1)?.output).toEqual(PARIS);
    expect(await it.state()).toEqual({capital: PARIS});
  });

  // google/adk-python#4868, anthropics/claude-code#68093
  test('gives up on a model that sends nothing, with the reason', async () => {
    const it = await asking(
      Array.from({length: 9}, () => give({})),
      {outputKey: 'capital'},
    );
    const {events, outcome} = await collect(it.run());
    expect(events.at(-1)).toMatchObject({errorCode: 'INVALID_OUTPUT', errorMessage: expect.stringContaining('city')});
    expect(outcome).toMatchObject({kind: 'done', errorCode: 'INVALID_OUTPUT', llmCalls: 3});
    expect(await it.state()).toEqual({});
    expectValid(await it.stored());
  });

  // google/adk-python#3969: text in place of the output, with an outputKey
  test('does not take text for the output', async () => {
    const it = await asking([look, 'The capital is Paris.', give(PARIS)], {outputKey: 'capital'});
    expect((await lines(it.run())).at(-1)).toBe(`root: ${JSON.stringify(JSON.stringify(PARIS))}`);
    expect(await it.state()).toEqual({capital: PARIS});
  });

  // openai/openai-agents-python#1806, #1061
  test('runs a call that comes beside text of the right form, and asks the model about its result', async () => {
    const both: ScriptedStep = {
      content: {role: 'model', parts: [{text: JSON.stringify({...PARIS, people: 1})}, {functionCall: {name: 'look_up', args: {}}}]},
      finishReason: 'STOP',
    };
    const it = await asking([both, give(PARIS)]);
    const {events} = await collect(it.run());
    expect(events.map(line).slice(1, 2)).toEqual(['root: look_up={"result":"found"}']);
    expect(events.filter(({output}) => output !== undefined).map(({output}) => output)).toEqual([PARIS]);
  });

  // google/adk-js#411: an outputSchema switched transfers off.
  test('can still hand over to another agent, which owes no output', async () => {
    const clerk = scripted('clerk', ['At nine.']);
    const it = await asking([functionCalls({name: 'transfer_to_agent', args: {agentName: 'clerk'}})], {subAgents: [clerk]});
    expect((await lines(it.run())).at(-1)).toBe('clerk: "At nine."');
  });
});

// google/adk-python#5054: a loop without an end there, an error where the agent is made here.
test.each<unknown>([z.string(), z.array(z.string())])(
  'an outputSchema that is no object is refused where the agent is made',
  (outputSchema) => {
    const make = (): LlmAgent =>
      new LlmAgent({name: 'root', model: new ScriptedLlm(), tools: [lookUp], outputSchema: outputSchema as never});
    expect(make).toThrow(expect.objectContaining({code: 'INVALID_OPTION'}));
  },
);

// google/adk-python#218
test('what a model thinks before its output is not part of it', async () => {
  const parts = [{text: 'Let me {think}.', thought: true}, {text: JSON.stringify(PARIS)}];
  const it = await stage({steps: [{content: {role: 'model', parts}, finishReason: 'STOP'}], agent: {outputSchema: city}});
  expect((await collect(it.run())).events.map(({output}) => output)).toEqual([PARIS]);
});

// google/adk-python#4868: nested arguments came as {}, and the tool was called again and again.
test('nested parameters are told to the model, and arrive whole', async () => {
  const given: unknown[] = [];
  const parameters = z.object({
    order: z.object({items: z.array(z.object({sku: z.string(), count: z.int()})), note: z.string().optional()}),
  });
  const place = new FunctionTool({name: 'place', description: 'Places.', parameters, execute: (args) => void given.push(args)});
  const args = {
    order: {
      items: [
        {sku: 'a', count: 1},
        {sku: 'b', count: 2},
      ],
    },
  };
  await using it = await wired({agent: {tools: [place]}, replies: [calls([{name: 'place', args}]), answer('Placed.')]});
  expect((await lines(it.stage.run())).at(-1)).toBe('root: "Placed."');
  expect(given).toEqual([args]);
  expect(it.server.requests.map(({refusal}) => refusal)).toEqual([undefined, undefined]);
  for (const name of ['order', 'items', 'sku', 'count', 'note']) expect(it.server.requests[0]?.bodyText).toContain(`"${name}":`);
});

// tinyhumansai/openhuman#5151: one agent without its output must not pass for one that has it.
describe('an agent that comes to no output', () => {
  const failing = (): LlmAgent => scripted('bad', ['no', 'no', 'no'], {outputSchema: city, outputKey: 'capital'});

  test('ends the sequence that it is in, and the outcome says why', async () => {
    const agent = new SequentialAgent({name: 'all', subAgents: [failing(), scripted('next', ['never asked'])]});
    const it = await stage({runner: {agent}});
    const {events, outcome} = await collect(it.run());
    expect(events.map(line)).toEqual(['bad: "no" [error:INVALID_OUTPUT]']);
    expect([outcome.errorCode, await it.state()]).toEqual(['INVALID_OUTPUT', {}]);
  });

  test('takes nothing from the branches beside it', async () => {
    const good = scripted('good', [JSON.stringify(PARIS)], {outputSchema: city, outputKey: 'other'});
    const it = await stage({runner: {agent: new ParallelAgent({name: 'all', subAgents: [failing(), good]})}});
    const {outcome} = await collect(it.run());
    expect([outcome.errorCode, await it.state()]).toEqual(['INVALID_OUTPUT', {other: PARIS}]);
  });
});
