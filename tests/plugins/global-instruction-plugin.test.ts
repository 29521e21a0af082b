import {expect, test} from 'vitest';
import type {InstructionProvider, LlmAgentConfig, LlmRequest} from 'sluice';
import {GlobalInstructionPlugin} from 'sluice/plugins';
import {collect, functionCalls} from 'sluice/testing';
import {liveStage} from '../live/kit.ts';
import {stage} from '../stories/kit.ts';
import {echo, pluginOf} from './kit.ts';

type SystemInstruction = LlmRequest['config']['systemInstruction'];

/** The instruction that the model gets. */
async function told(
  global: string | InstructionProvider,
  agent: Partial<LlmAgentConfig> = {},
  set?: SystemInstruction,
): Promise<SystemInstruction> {
  const earlier = pluginOf('sets', {beforeModelCallback: ({llmRequest}) => void (set && (llmRequest.config.systemInstruction = set))});
  const it = await stage({steps: ['done'], agent, runner: {plugins: [earlier, new GlobalInstructionPlugin(global)]}});
  const {error} = await collect(it.run('go', {stateDelta: {city: 'Rome', prices: [1, 2]}}));
  if (error) throw error;
  return it.model.requests[0]?.config.systemInstruction;
}

test.each<[string, string | InstructionProvider, Partial<LlmAgentConfig>, SystemInstruction]>([
  ["a text, ahead of the agent's own", 'Be kind.', {instruction: 'Be brief.'}, 'Be kind.\n\nBe brief.'],
  ['a text alone', 'Be kind.', {}, 'Be kind.'],
  ['nothing', '', {instruction: 'Be brief.'}, 'Be brief.'],
  ['a text with state', 'You are in {city}, {prices} {{x}} {gone?}.', {}, 'You are in Rome, [1,2] {{x}} .'],
  [
    'what a function gives, as it is',
    ({agentName, state}) => `${agentName} in ${state.get('city', '')} {city}`,
    {instruction: 'Be brief.'},
    'root in Rome {city}\n\nBe brief.',
  ],
  ['what a function gives later', async () => 'Be kind.', {}, 'Be kind.'],
  ['nothing from a function', () => '', {instruction: 'Be brief.'}, 'Be brief.'],
])('%s', async (_, global, agent, expected) => {
  expect(await told(global, agent)).toEqual(expected);
});

test.each<[string, SystemInstruction, SystemInstruction]>([
  ['a content', {role: 'system', parts: [{text: 'Be brief.'}]}, {role: 'system', parts: [{text: 'Be kind.'}, {text: 'Be brief.'}]}],
  ['parts', ['Be brief.', {text: 'Be fast.'}], {role: 'user', parts: [{text: 'Be kind.'}, {text: 'Be brief.'}, {text: 'Be fast.'}]}],
  ['a part', {text: 'Be brief.'}, {role: 'user', parts: [{text: 'Be kind.'}, {text: 'Be brief.'}]}],
])('stands in front of %s that another plugin has set', async (_, set, expected) => {
  expect(await told('Be kind.', {}, set)).toEqual(expected);
});

test("stands behind an agent's staticInstruction, ahead of its own", async () => {
  const it = await stage({
    steps: ['Hello.', functionCalls({name: 'echo'}), 'done'],
    agent: {staticInstruction: 'You are a clerk.', instruction: 'Be brief.', tools: [echo]},
    runner: {plugins: [new GlobalInstructionPlugin('You are in {city}.')]},
  });
  for (const city of ['Rome', 'Paris']) await collect(it.run(city, {stateDelta: {city}}));
  const texts = it.model.requests.map(({contents}) => contents.map(({parts}) => parts?.[0]?.text ?? 'a call or its response'));
  expect(it.model.requests.map(({config}) => config.systemInstruction)).toEqual(Array(3).fill('You are a clerk.'));
  expect(texts).toEqual([
    ['You are in Rome.', 'Be brief.', 'Rome'],
    ['Rome', 'Hello.', 'You are in Paris.', 'Be brief.', 'Paris'],
    ['Rome', 'Hello.', 'Paris', 'a call or its response', 'a call or its response', 'You are in Paris.', 'Be brief.'],
  ]);
});

test('stands behind a staticInstruction in the setup of a live connection', async () => {
  await using it = await liveStage({
    agent: {staticInstruction: 'You are a clerk.', instruction: 'Be brief.'},
    runner: {plugins: [new GlobalInstructionPlugin('Be kind.')]},
  });
  const {session, reading} = await it.talk();
  expect(session.setup?.['systemInstruction']).toEqual({role: 'user', parts: [{text: 'You are a clerk.\n\nBe brief.\n\nBe kind.'}]});
  await it.finish(session, reading);
});

test.each<[string, string | InstructionProvider, string]>([
  ['state that is missing', 'In {town}.', 'Expected `state.town` to be set'],
  ['a function that gives no text', () => 7 as never, 'Expected `globalInstruction` to be a function that gives a string, got 7'],
])('%s is an error of its hook', async (_, global, message) => {
  await expect(told(global)).rejects.toMatchObject({
    code: 'HOOK_FAILED',
    hook: 'beforeModelCallback',
    message: expect.stringContaining(message),
  });
});
