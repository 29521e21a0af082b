// What people reported about long sessions that are told to the model in short. Each run has a process of its own.
import {describe, expect, test, vi} from 'vitest';
import {FunctionTool} from 'sluice';
import {EventCompactionPlugin} from 'sluice/plugins';
import {functionCalls, type ScriptedStep} from 'sluice/testing';
import {answer, Desk, lastResponses, scripted} from './desk.ts';

describe('a session that is told in short', () => {
  const plugin = (threshold: {tokenThreshold: number} | {compactionInterval: number}): EventCompactionPlugin =>
    new EventCompactionPlugin({summarizer: () => 'In short.', ...threshold});

  // google/adk-python#4740, google/adk-js#496
  test('keeps a call that waits, and takes its answer', async () => {
    const deployed = vi.fn<() => string>(() => 'deployed');
    const deploy = new FunctionTool({name: 'deploy', description: 'Deploys.', requireConfirmation: true, execute: deployed});
    const desk = new Desk({plugins: [plugin({compactionInterval: 1})]});
    const root = (...steps: ScriptedStep[]) => scripted('root', steps, {tools: [deploy]});
    await desk.run(root('Hello.'), 'hi');
    await desk.run(root(functionCalls({id: 'd', name: 'deploy'})), 'deploy');
    for (const said of ['one', 'two', 'three']) await desk.run(root('Later.'), said);
    const agent = root('Deployed.');
    expect((await desk.run(agent, [answer(desk.pending[0], {confirmed: true})])).said.at(-1)).toBe('root: "Deployed."');
    expect(deployed).toHaveBeenCalledOnce();
    expect(lastResponses(agent.model)).toEqual([{result: 'deployed'}]);
    expect(agent.model.requests[0]?.contents[0]?.parts?.[0]?.text).toContain('In short.');
  });

  // google/adk-js#474, #473
  test('is not, as long as no request is long: what requests have taken does not add up', async () => {
    const desk = new Desk({plugins: [plugin({tokenThreshold: 100})]});
    const reply: ScriptedStep = {
      content: {role: 'model', parts: [{text: 'Yes.'}]},
      finishReason: 'STOP',
      usageMetadata: {promptTokenCount: 60},
    };
    for (const said of ['1', '2', '3', '4']) await desk.run(scripted('root', [reply]), said);
    const agent = scripted('root', [reply]);
    await desk.run(agent, '5');
    expect(agent.model.requests[0]?.contents).toHaveLength(9);
    expect(JSON.stringify(agent.model.requests[0])).not.toContain('In short.');
  });
});
