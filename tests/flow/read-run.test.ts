import {describe, expect, test} from 'vitest';
import {
  InMemoryRunner,
  LlmAgent,
  LongRunningFunctionTool,
  RunIncompleteError,
  StreamingMode,
  type LlmAgentConfig,
  type RunConfig,
} from 'sluice';
import {deltas, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {line} from '../stories/kit.ts';

const newMessage = {role: 'user', parts: [{text: 'go'}]};

function runnerOf(steps: readonly ScriptedStep[], agent: Partial<LlmAgentConfig> = {}, runConfig: RunConfig = {}): InMemoryRunner {
  return new InMemoryRunner({agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps}), ...agent}), appName: 'app', runConfig});
}

describe('runner.run()', () => {
  test('resolves to the output, the text, the tokens and the whole Events', async () => {
    const reply = {content: {role: 'model', parts: [{text: '{"n": 1}'}]}, usageMetadata: {totalTokenCount: 7}};
    const result = await runnerOf([reply], {outputSchema: z.object({n: z.int()})}).run({userId: 'u', newMessage});
    expect(result).toMatchObject({output: {n: 1}, text: '{"n": 1}', usage: {totalTokenCount: 7}});
    expect(result.events.map(line)).toEqual(['root: "{\\"n\\": 1}"']);
  });

  test('leaves no session behind without an id, and keeps the one that it is given', async () => {
    const runner = runnerOf(['One.', 'Two.']);
    await runner.run({userId: 'u', newMessage});
    expect((await runner.sessionService.listSessions({appName: 'app', userId: 'u'})).sessions).toEqual([]);
    await runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
    expect((await runner.run({userId: 'u', sessionId: 's', newMessage})).text).toBe('Two.');
    expect((await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events).toHaveLength(2);
  });

  test('leaves partial Events out', async () => {
    const runner = runnerOf([deltas('a', 'b')], {}, {streamingMode: StreamingMode.SSE});
    const {events, text} = await runner.run({userId: 'u', newMessage});
    expect({count: events.length, text}).toEqual({count: 1, text: 'ab'});
  });

  test('rejects with the error of the run', async () => {
    await expect(runnerOf([new Error('out of order')]).run({userId: 'u', newMessage})).rejects.toMatchObject({code: 'MODEL_FAILED'});
    const abortSignal = AbortSignal.abort('enough');
    await expect(runnerOf(['never']).run({userId: 'u', newMessage, abortSignal})).rejects.toBe('enough');
  });

  test('rejects where the run waits, or has no usable reply, with the Events of the run', async () => {
    const later = new LongRunningFunctionTool({name: 'later', description: 'Later.', execute: () => 1});
    const waiting = runnerOf([functionCalls({name: 'later', args: {}})], {tools: [later]}).run({userId: 'u', newMessage});
    await expect(waiting).rejects.toMatchObject({code: 'RUN_WAITING', events: {length: 2}});
    const blocked = runnerOf([{finishReason: 'SAFETY'}]).run({userId: 'u', newMessage});
    await expect(blocked).rejects.toBeInstanceOf(RunIncompleteError);
    await expect(blocked).rejects.toMatchObject({code: 'SAFETY', events: {length: 1}});
  });
});
