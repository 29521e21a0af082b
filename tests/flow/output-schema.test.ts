import {describe, expect, test} from 'vitest';
import {FunctionTool, LlmAgent, StreamingMode, type LlmAgentConfig} from 'sluice';
import {collect, deltas, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {expectValid, line, stage, type Stage} from '../stories/kit.ts';

const capital = z.object({city: z.string(), people: z.int()});
const PARIS = {city: 'Paris', people: 2_100_000};
const give = (args: Record<string, unknown>): ScriptedStep => functionCalls({name: 'set_model_response', args});
const lookUp = new FunctionTool({name: 'look_up', description: 'Looks up.', execute: () => 'found'});

const asking = (steps: readonly ScriptedStep[], agent: Partial<LlmAgentConfig> = {}): Promise<Stage> =>
  stage({steps, agent: {outputSchema: capital, ...agent}});

describe('an outputSchema without tools', () => {
  test('goes out as the response schema, and the last Event has the checked output', async () => {
    const it = await asking([JSON.stringify(PARIS)], {outputKey: 'capital'});
    const {events, outcome} = await collect(it.run());
    expect(events.map(line)).toEqual([`root: ${JSON.stringify(JSON.stringify(PARIS))}`]);
    expect(events[0]?.output).toEqual(PARIS);
    expect(await it.state()).toEqual({capital: PARIS});
    expect(outcome.kind).toBe('done');
    const {responseMimeType, responseJsonSchema, tools} = it.model.requests[0]?.config ?? {};
    expect({responseMimeType, tools}).toEqual({responseMimeType: 'application/json', tools: undefined});
    expect(responseJsonSchema).toMatchObject({type: 'object', required: ['city', 'people']});
  });

  test('as a genai Schema goes out as one', async () => {
    const outputSchema = {type: 'OBJECT', properties: {city: {type: 'STRING'}}, required: ['city']} as never;
    const it = await asking(['{"city": "Oslo"}'], {outputSchema});
    expect((await collect(it.run())).events[0]?.output).toEqual({city: 'Oslo'});
    expect(it.model.requests[0]?.config.responseSchema).toEqual(outputSchema);
  });

  test('reads JSON within a fence, and what the schema makes of it', async () => {
    const outputSchema = z.object({city: z.string().trim(), at: z.string().default('noon')});
    const it = await asking(['```json\n{"city": " Rome "}\n```'], {outputSchema});
    expect((await collect(it.run())).events[0]?.output).toEqual({city: 'Rome', at: 'noon'});
  });

  test('asks again with the error told to the model, and stores only the reply that fits', async () => {
    const it = await asking(['Paris!', '{"city": "Paris"}', JSON.stringify(PARIS)]);
    const {events, outcome} = await collect(it.run());
    expect(events.map((event) => event.output)).toEqual([PARIS]);
    expect((await it.stored()).map(line)).toEqual(['user: "go"', `root: ${JSON.stringify(JSON.stringify(PARIS))}`]);
    expect(outcome.llmCalls).toBe(3);
    const said = it.model.requests[2]?.contents.map(({role, parts}) => `${role}: ${parts?.[0]?.text}`) ?? [];
    expect(said).toEqual([
      'user: go',
      'model: Paris!',
      expect.stringMatching(/^user: This is not the form that was asked for\. Invalid arguments: must be an object, got "Paris!"/),
      'model: {"city": "Paris"}',
      expect.stringMatching(
        /^user: This is not the form that was asked for\. Invalid arguments: people: .*Expected: \{city: string, people: integer\}$/,
      ),
    ]);
  });

  test('gives up after the third reply, which is stored with the reason', async () => {
    const it = await asking(['one', 'two', 'three', 'four'], {outputKey: 'capital'});
    const {events, outcome} = await collect(it.run());
    expect(events.map(line)).toEqual(['root: "three" [error:INVALID_OUTPUT]']);
    expect(events[0]?.output).toBeUndefined();
    expect(await it.state()).toEqual({});
    expect(outcome).toMatchObject({kind: 'done', errorCode: 'INVALID_OUTPUT', llmCalls: 3});
  });

  test('streams the text of each attempt, and each attempt under an id of its own', async () => {
    const it = await asking([deltas('{"ci', 'ty": 1}'), deltas(JSON.stringify(PARIS))]);
    const {events} = await collect(it.run('go', {runConfig: {streamingMode: StreamingMode.SSE}}));
    expect(events.map(({partial}) => partial ?? false)).toEqual([true, true, true, false]);
    expect(events[0]?.id).toBe(events[1]?.id);
    expect(events[2]?.id).toBe(events[3]?.id);
    expect(events[0]?.id).not.toBe(events[2]?.id);
  });

  test('leaves a reply that was cut or blocked as it is', async () => {
    const it = await asking([{content: {role: 'model', parts: [{text: '{"ci'}]}, finishReason: 'MAX_TOKENS'}]);
    expect((await collect(it.run())).events.map(line)).toEqual(['root: "{\\"ci" [error:MAX_TOKENS]']);
  });

  test('waits for a check that takes its time', async () => {
    const outputSchema = capital.refine(({people}) => Promise.resolve(people > 0), 'nobody lives there');
    const it = await asking(['{"city": "Pompeii", "people": 0}', JSON.stringify(PARIS)], {outputSchema});
    expect((await collect(it.run())).events.map(({output}) => output)).toEqual([PARIS]);
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.text).toContain('nobody lives there');
  });
});

describe('an outputSchema with tools', () => {
  test('is that of a tool which takes the output, after other tools', async () => {
    const it = await asking([functionCalls({name: 'look_up', args: {}}), give(PARIS)], {tools: [lookUp], outputKey: 'capital'});
    const {events} = await collect(it.run());
    expect(events.map(line)).toEqual([
      'root: look_up({})',
      'root: look_up={"result":"found"}',
      `root: set_model_response(${JSON.stringify(PARIS)})`,
      `root: set_model_response=${JSON.stringify(PARIS)}`,
      `root: ${JSON.stringify(JSON.stringify(PARIS))}`,
    ]);
    expect(events.at(-1)?.output).toEqual(PARIS);
    expect(await it.state()).toEqual({capital: PARIS});
    expectValid(await it.stored());
    expect(it.model.requests[0]?.config.responseMimeType).toBeUndefined();
    expect(it.model.requests[0]?.config.systemInstruction).toContain('set_model_response');
  });

  test('runs the calls beside it, and keeps their results', async () => {
    const both = functionCalls({name: 'look_up', args: {}}, {name: 'set_model_response', args: PARIS});
    const it = await asking([both], {tools: [lookUp]});
    const {events} = await collect(it.run());
    expect(events[1] && line(events[1])).toBe(`root: look_up={"result":"found"} set_model_response=${JSON.stringify(PARIS)}`);
    expect(events.at(-1)?.output).toEqual(PARIS);
  });

  test('asks again where the output does not fit, twice at most', async () => {
    const wrong = {city: 'Paris', people: 'many'};
    const right = await asking([give(wrong), give(PARIS)], {tools: [lookUp]});
    expect((await collect(right.run())).events.at(-1)?.output).toEqual(PARIS);

    const never = await asking([give(wrong), give(wrong), give(wrong), give(wrong)], {tools: [lookUp]});
    const {events, outcome} = await collect(never.run());
    expect(events.at(-1)).toMatchObject({errorCode: 'INVALID_OUTPUT', errorMessage: expect.stringContaining('people')});
    expect(outcome).toMatchObject({errorCode: 'INVALID_OUTPUT', llmCalls: 3});
    expectValid(await never.stored());
  });

  test('takes JSON that was written as text, and asks for the tool where it was not', async () => {
    const it = await asking(['Let me see.', JSON.stringify(PARIS)], {tools: [lookUp]});
    expect((await collect(it.run())).events.map(({output}) => output)).toEqual([PARIS]);
    expect(it.model.requests[1]?.contents.at(-1)?.parts?.[0]?.text).toMatch(/Call set_model_response\.$/);
  });
});

test.each([z.string(), z.array(z.string()), 'text', 5, null])('the outputSchema %j is refused when the agent is made', (outputSchema) => {
  expect(() => new LlmAgent({name: 'root', model: new ScriptedLlm(), outputSchema: outputSchema as never})).toThrow(
    expect.objectContaining({code: 'INVALID_OPTION', option: expect.stringMatching(/^root\.outputSchema/)}),
  );
});
