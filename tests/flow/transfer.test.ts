import {describe, expect, test, vi} from 'vitest';
import {
  BaseAgent,
  createEvent,
  FunctionTool,
  InMemoryRunner,
  LlmAgent,
  type Event,
  type FunctionDeclaration,
  type InvocationContext,
  type LlmAgentConfig,
} from 'sluice';
import {collect, functionCalls, hang, ScriptedLlm, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage} from '../stories/kit.ts';

const to = (agentName: string): ScriptedStep => functionCalls({name: 'transfer_to_agent', args: {agentName}});

interface Scripted {
  readonly agent: LlmAgent;
  readonly model: ScriptedLlm;
}

function scripted(name: string, steps: readonly ScriptedStep[], config: Partial<LlmAgentConfig> = {}): Scripted {
  const model = new ScriptedLlm({steps});
  return {model, agent: new LlmAgent({name, description: `Knows ${name}.`, model, ...config})};
}

/** Says what is asked in a session that is kept from one call to the next. */
function talkTo(agent: BaseAgent): (text: string) => Promise<string[]> {
  const runner = new InMemoryRunner({agent, appName: 'app', autoCreateSession: true});
  return async (text) => {
    const {events} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text}]}}));
    return events.map(line);
  };
}

const declarations = ({model}: Scripted): FunctionDeclaration[] =>
  (model.requests[0]?.config.tools ?? []).flatMap((tool) => ('functionDeclarations' in tool ? (tool.functionDeclarations ?? []) : []));
const choices = (it: Scripted): unknown =>
  (declarations(it)[0]?.parametersJsonSchema as {properties?: {agentName?: {enum?: unknown}}} | undefined)?.properties?.agentName?.enum;

describe('a transfer', () => {
  test('hands the conversation over within the run, and the next message goes where it was handed', async () => {
    const clerk = scripted('clerk', ['At nine.', 'Until six.']);
    const root = scripted('root', [to('clerk')], {subAgents: [clerk.agent]});
    const say = talkTo(root.agent);
    expect(await say('When do you open?')).toEqual([
      'root: transfer_to_agent({"agentName":"clerk"})',
      'root: transfer_to_agent={"status":"transferred"}',
      'clerk: "At nine."',
    ]);
    expect(await say('Until when?')).toEqual(['clerk: "Until six."']);
    expect(root.model.requests).toHaveLength(1);
  });

  test('tells the model whom it can hand over to, with descriptions', async () => {
    const clerk = scripted('clerk', ['Hello.']);
    const root = scripted('root', ['Hello.'], {subAgents: [clerk.agent], instruction: 'Be kind.'});
    await talkTo(root.agent)('Hi');
    const {systemInstruction} = root.model.requests[0]?.config ?? {};
    expect(systemInstruction).toMatch(/^Be kind\.\n\nYou work with other agents:\n- clerk: Knows clerk\.\n/);
    expect(choices(root)).toEqual(['clerk']);
  });

  test.each([
    [{}, ['root', 'peer']],
    [{disallowTransferToParent: true}, ['peer']],
    [{disallowTransferToPeers: true}, ['root']],
  ])('with %j goes to %j', async (config, expected) => {
    const clerk = scripted('clerk', ['Hello.'], config);
    const root = scripted('root', [to('clerk')], {subAgents: [clerk.agent, scripted('peer', []).agent]});
    await talkTo(root.agent)('Hi');
    expect(choices(clerk)).toEqual(expected);
  });

  test('goes nowhere without agents, or where both ways are closed', async () => {
    const clerk = scripted('clerk', ['Hello.'], {disallowTransferToParent: true, disallowTransferToPeers: true});
    const root = scripted('root', [to('clerk')], {subAgents: [clerk.agent]});
    await talkTo(root.agent)('Hi');
    expect(declarations(clerk)).toEqual([]);
  });

  test('back to the parent and to a peer works, and each time the last one answers', async () => {
    const left = scripted('left', [to('right')]);
    const right = scripted('right', [to('root')]);
    const root = scripted('root', [to('left'), 'Here I am.', 'Still here.'], {subAgents: [left.agent, right.agent]});
    const say = talkTo(root.agent);
    expect((await say('Go round')).filter((it) => !it.includes('='))).toEqual([
      'root: transfer_to_agent({"agentName":"left"})',
      'left: transfer_to_agent({"agentName":"right"})',
      'right: transfer_to_agent({"agentName":"root"})',
      'root: "Here I am."',
    ]);
    expect(await say('And now?')).toEqual(['root: "Still here."']);
  });

  test('an agent that cannot hand back answers once, and the root is asked again', async () => {
    const clerk = scripted('clerk', ['At nine.'], {disallowTransferToParent: true});
    const root = scripted('root', [to('clerk'), 'You are welcome.'], {subAgents: [clerk.agent]});
    const say = talkTo(root.agent);
    await say('When?');
    expect(await say('Thanks')).toEqual(['root: "You are welcome."']);
  });

  test.each([0, 1, 2])('stands at place %i among parallel calls, all of which are answered first', async (place) => {
    const clerk = scripted('clerk', ['Done.']);
    const calls = [
      {name: 'note', args: {}},
      {name: 'note', args: {}},
    ];
    calls.splice(place, 0, {name: 'transfer_to_agent', args: {agentName: 'clerk'}});
    const note = new FunctionTool({name: 'note', description: 'Notes.', execute: () => 'noted'});
    const root = scripted('root', [functionCalls(...calls)], {subAgents: [clerk.agent], tools: [note]});
    const [, answered, last] = await talkTo(root.agent)('Go');
    expect(answered?.split('=')).toHaveLength(4);
    expect(last).toBe('clerk: "Done."');
  });

  test.each(['nobody', 'root', '', '__proto__'])('to %j is told to the model as an error, and changes nothing', async (name) => {
    const clerk = scripted('clerk', []);
    const root = scripted('root', [to(name), 'I answer myself.'], {subAgents: [clerk.agent]});
    const [, refused, last] = await talkTo(root.agent)('Go');
    expect(refused).toContain('must be one of [\\"clerk\\"]');
    expect(last).toBe('root: "I answer myself."');
  });

  test('to an agent of the user runs that', async () => {
    class Parrot extends BaseAgent {
      protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
        yield createEvent({author: this.name, content: {role: 'model', parts: [{text: context.userContent?.parts?.[0]?.text ?? ''}]}});
      }
    }
    const root = scripted('root', [to('parrot'), 'Again me.'], {subAgents: [new Parrot({name: 'parrot', description: 'Repeats.'})]});
    const say = talkTo(root.agent);
    expect((await say('Polly')).at(-1)).toBe('parrot: "Polly"');
    // It has no model that could hand back.
    expect(await say('Polly?')).toEqual(['root: "Again me."']);
  });

  test('in a circle ends at maxLlmCalls', async () => {
    const clerk = scripted(
      'clerk',
      Array.from({length: 9}, () => to('root')),
    );
    const root = scripted(
      'root',
      Array.from({length: 9}, () => to('clerk')),
      {subAgents: [clerk.agent]},
    );
    const runner = new InMemoryRunner({agent: root.agent, appName: 'app', autoCreateSession: true, runConfig: {maxLlmCalls: 5}});
    const {error} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: 'Go'}]}}));
    expect(error).toMatchObject({code: 'LLM_CALLS_LIMIT'});
    const session = await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
    expectValid(session?.events ?? []);
  });

  test('that is stopped while the other agent answers leaves a valid session and no listener', async () => {
    const clerk = scripted('clerk', [hang()]);
    const root = scripted('root', [to('clerk')], {subAgents: [clerk.agent]});
    const runner = new InMemoryRunner({agent: root.agent, appName: 'app', autoCreateSession: true});
    const stop = new AbortController();
    const newMessage = {role: 'user', parts: [{text: 'Go'}]};
    const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage, abortSignal: stop.signal});
    await run.next();
    await run.next();
    const pending = run.next().catch((error: unknown) => error);
    await vi.waitUntil(() => clerk.model.requests.length > 0);
    stop.abort('enough');
    expect(await pending).toBe('enough');
    const session = await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
    expectValid(session?.events ?? []);
    expectNoListeners(stop.signal);
  });

  test('a tool that is named as the one that hands over is refused when it is needed', async () => {
    const mine = new FunctionTool({name: 'transfer_to_agent', description: 'Mine.', execute: () => 'mine'});
    const root = scripted('root', [], {subAgents: [scripted('clerk', []).agent], tools: [mine]});
    const runner = new InMemoryRunner({agent: root.agent});
    const {error} = await collect(runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'Go'}]}}));
    expect(error).toMatchObject({code: 'INVALID_OPTION', option: 'root.tools'});
  });
});

describe('a tool that hands over', () => {
  const hand = (transferToAgent: unknown): FunctionTool =>
    new FunctionTool({
      name: 'hand',
      description: 'Hands over.',
      execute: (_args, {actions}) => void (actions.transferToAgent = transferToAgent as string),
    });
  const tree = (transferToAgent: unknown): Scripted => {
    const leaf = scripted('leaf', ['From the leaf.']);
    const middle = scripted('middle', [], {subAgents: [leaf.agent]});
    return scripted('root', [functionCalls({name: 'hand'}), 'Still me.'], {tools: [hand(transferToAgent)], subAgents: [middle.agent]});
  };

  test('may name any agent of the tree', async () => {
    expect((await talkTo(tree('leaf').agent)('go')).at(-1)).toBe('leaf: "From the leaf."');
  });

  test('does nothing by naming its own agent', async () => {
    expect((await talkTo(tree('root').agent)('go')).at(-1)).toBe('root: "Still me."');
  });

  test.each(['nobody', 5])('ends the run with an error where there is no such agent: %j', async (name) => {
    const lone = scripted('root', [functionCalls({name: 'hand'})], {tools: [hand(name)]});
    for (const {agent} of [tree(name), lone]) {
      const it = await stage({runner: {agent}});
      expect((await collect(it.run())).error).toMatchObject({code: 'INVALID_OPTION', option: 'actions.transferToAgent'});
      expectValid(await it.stored());
    }
  });
});
