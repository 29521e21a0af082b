import {describe, expect, test} from 'vitest';
import {
  BaseAgent,
  BasePlugin,
  FunctionTool,
  getFunctionResponses,
  LiveRequestQueue,
  LlmAgent,
  SequentialAgent,
  type BaseTool,
  type Event,
  type InvocationContext,
} from 'sluice';
import {ScriptedLlm, type LiveServerSession} from 'sluice/testing';
import {expectValidLive, heldTool, liveStage, turn, whole, wire, type LiveReading, type LiveStage} from './kit.ts';
import {
  agentOf,
  ANSWER,
  CALL,
  CALLED,
  connected,
  handedOver,
  history,
  modelOf,
  TRANSFERRED,
  transferStage,
  transferTo,
  type AgentMaker,
} from './transfer-kit.ts';

interface Declaration {
  readonly name: string;
  readonly parametersJsonSchema?: {readonly properties: {readonly agentName?: {readonly enum: readonly string[]}}};
}

const declared = ({setup}: LiveServerSession): Declaration[] =>
  ((setup?.['tools'] ?? []) as {functionDeclarations?: Declaration[]}[]).flatMap((tool) => tool.functionDeclarations ?? []);
const choices = (session: LiveServerSession): readonly string[] | undefined =>
  declared(session).find(({name}) => name === 'transfer_to_agent')?.parametersJsonSchema?.properties.agentName?.enum;
const instructionOf = ({setup}: LiveServerSession): string =>
  ((setup?.['systemInstruction'] ?? {}) as {parts?: {text: string}[]}).parts?.map(({text}) => text).join('') ?? '';

/** The last to speak says goodbye, and the run is over. */
async function finish(
  it: LiveStage,
  session: LiveServerSession,
  reading: LiveReading,
  {name = 'clerk', queue = it.queue}: {readonly name?: string; readonly queue?: LiveRequestQueue} = {},
): LiveReading['end'] {
  session.say('Bye.');
  await reading.until(`${name}: "Bye." [partial]`);
  queue.close();
  session.completeTurn();
  return reading.end;
}

describe('an agent that others stand below', () => {
  test('has the tool and the instruction for it in the setup of its connection, and so has the one that takes over', async () => {
    await using it = await transferStage({subAgents: [agentOf('clerk'), agentOf('cook')]});
    const {first, second, reading} = await handedOver(it);
    await finish(it, second, reading);
    expect([choices(first), choices(second)]).toEqual([
      ['clerk', 'cook'],
      ['root', 'cook'],
    ]);
    expect(instructionOf(first)).toMatch(/^You are root\.\n\nYou work with other agents:\n- clerk: Knows clerk\.\n- cook: Knows cook\.\n/);
    expect(instructionOf(second)).toMatch(/^You are clerk\.\n\nYou work with other agents:\n- root\n- cook: Knows cook\.\n/);
    expect(instructionOf(second)).toMatch(/Where none of you fits, hand over to root, which you belong to\.$/);
  });

  test.each([
    [{disallowTransferToParent: true}, ['cook']],
    [{disallowTransferToPeers: true}, ['root']],
    [{disallowTransferToParent: true, disallowTransferToPeers: true}, undefined],
  ])('is one to which those below can hand over: with %j they can to %j', async (config, expected) => {
    await using it = await transferStage({subAgents: [agentOf('clerk', config), agentOf('cook')]});
    const {second, reading} = await handedOver(it);
    await finish(it, second, reading);
    expect(choices(second)).toEqual(expected);
  });

  test('is not offered those that cannot be run live, and no tool where that leaves nobody', async () => {
    class Custom extends BaseAgent {
      protected async *runAsyncImpl(_context: InvocationContext): AsyncGenerator<Event, void, undefined> {}
    }
    const custom: AgentMaker = () => new Custom({name: 'custom'});
    const steps: AgentMaker = (server) => new SequentialAgent({name: 'steps', subAgents: [agentOf('cook')(server)]});
    const written = agentOf('written', {model: new ScriptedLlm({steps: []})});
    await using some = await transferStage({subAgents: [custom, agentOf('clerk'), steps, written]});
    const {session} = await some.talk();
    expect(choices(session)).toEqual(['clerk']);
    await using none = await transferStage({subAgents: [custom, steps, written]});
    const {session: alone} = await none.talk();
    expect(declared(alone)).toEqual([]);
    expect(instructionOf(alone)).toBe('You are root.');
  });
});

describe('a transfer', () => {
  test('is answered, closes the connection, and goes on over one to the other agent, which answers what was asked', async () => {
    await using it = await transferStage();
    const {first, second, reading} = await handedOver(it);
    expect(await first.closed).toMatchObject({early: true, code: 1000});
    second.say('At nine.');
    second.completeTurn();
    await reading.until('clerk: "At nine." [turn complete]');
    void it.say('Until when?');
    await second.message('clientContent', 2);
    const {outcome} = await finish(it, second, reading);
    expect(reading.lines).toEqual([
      CALL,
      ANSWER,
      'clerk: "At nine." [partial]',
      'clerk: "At nine." [turn complete]',
      'clerk: "Bye." [partial]',
      'clerk: "Bye." [turn complete]',
    ]);
    expect(await it.stored()).toEqual([
      'user: "hi"',
      CALL,
      ANSWER,
      'clerk: "At nine." [turn complete]',
      'user: "Until when?"',
      ...whole(reading.lines).slice(-1),
    ]);
    expect([first, second].map(modelOf)).toEqual(['models/live-root', 'models/live-clerk']);
    expect(wire(first)).toEqual([turn('hi')]);
    expect(wire(second)).toEqual([history(['user', 'hi'], ['user', CALLED]), turn(TRANSFERRED), turn('Until when?')]);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 3, abandoned: []});
    expect(it.server.sessions).toHaveLength(2);
    expectValidLive(await it.stage.stored());
  });

  test('stands at any place among other calls: all are run, and answered once, in call order, before it is made', async () => {
    const slow = heldTool('slow');
    const quick = new FunctionTool({name: 'quick', description: 'Answers at once.', execute: () => 'ready'});
    await using it = await transferStage({root: {tools: [slow.tool, quick]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'slow'}, transferTo('clerk', '2'), {id: '3', name: 'quick'}]);
    const call = await slow.call();
    expect(it.server.sessions).toHaveLength(1);
    call.end('at last');
    const second = await connected(it);
    await second.message('clientContent', 1);
    await finish(it, second, reading);
    const answer = 'root: slow={"result":"at last"} transfer_to_agent={"status":"transferred"} quick={"result":"ready"}';
    expect(reading.lines).toEqual([
      'root: slow({}) transfer_to_agent({"agentName":"clerk"}) quick({})',
      answer,
      'clerk: "Bye." [partial]',
      'clerk: "Bye." [turn complete]',
    ]);
    expect(reading.events.flatMap((event) => getFunctionResponses(event).map(({id}) => id))).toEqual(['1', '2', '3']);
    expect(wire(session)).toEqual([turn('hi')]);
    expect(wire(second).at(-1)).toEqual({
      clientContent: {
        turns: [
          {
            role: 'user',
            parts: [
              {text: '[root] got from `slow`: {"result":"at last"}'},
              {text: TRANSFERRED},
              {text: '[root] got from `quick`: {"result":"ready"}'},
            ],
          },
        ],
        turnComplete: true,
      },
    });
    expectValidLive(await it.stage.stored());
  });

  test('to the agent itself, to an unknown one, or to none is answered with an error, and the agent goes on', async () => {
    await using it = await transferStage();
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('root', '1'), transferTo('nobody', '2'), {id: '3', name: 'transfer_to_agent'}]);
    const {payload} = await session.message('toolResponse');
    const {outcome} = await it.finish(session, reading);
    const error = (got: string): Record<string, unknown> => ({
      error: expect.stringContaining(`agentName: must be one of ["clerk"], got ${got}`),
    });
    expect(payload['functionResponses']).toEqual([
      {id: '1', name: 'transfer_to_agent', response: error('"root"')},
      {id: '2', name: 'transfer_to_agent', response: error('"nobody"')},
      {id: '3', name: 'transfer_to_agent', response: error('undefined')},
    ]);
    expect(outcome.kind).toBe('done');
    expect(it.server.sessions).toHaveLength(1);
  });

  test('is also what a tool of the user asks for in its actions', async () => {
    const escalate = new FunctionTool({
      name: 'escalate',
      description: 'Gets somebody.',
      execute: (_args, {actions}) => {
        actions.transferToAgent = 'clerk';
        return 'coming';
      },
    });
    await using it = await transferStage({root: {tools: [escalate]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'escalate'}]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    await finish(it, second, reading);
    expect(whole(reading.lines)).toEqual(['root: escalate({})', 'root: escalate={"result":"coming"}', 'clerk: "Bye." [turn complete]']);
  });

  test('goes over two hops and back to the parent, each time over a new connection to that agent', async () => {
    await using it = await transferStage({subAgents: [agentOf('clerk'), agentOf('cook')]});
    const {second, reading} = await handedOver(it);
    second.toolCall([transferTo('cook', 't2')]);
    const third = await connected(it);
    await third.message('clientContent', 1);
    third.say('Soup. ');
    third.toolCall([transferTo('root', 't3')]);
    const fourth = await connected(it);
    await fourth.message('clientContent', 1);
    const {outcome} = await finish(it, fourth, reading, {name: 'root'});
    expect(it.server.sessions.map(modelOf)).toEqual(['live-root', 'live-clerk', 'live-cook', 'live-root'].map((name) => `models/${name}`));
    expect(whole(reading.lines)).toEqual([
      CALL,
      ANSWER,
      'clerk: transfer_to_agent({"agentName":"cook"})',
      'clerk: transfer_to_agent={"status":"transferred"}',
      'cook: "Soup. " transfer_to_agent({"agentName":"root"})',
      'cook: transfer_to_agent={"status":"transferred"}',
      'root: "Bye." [turn complete]',
    ]);
    // Its own calls of before are told to root, too: a live model takes only text for history.
    expect(wire(fourth)).toEqual([
      history(
        ['user', 'hi'],
        ['user', CALLED],
        ['user', TRANSFERRED],
        ['user', '[clerk] called tool `transfer_to_agent` with {"agentName":"cook"}'],
        ['user', '[clerk] got from `transfer_to_agent`: {"status":"transferred"}'],
        ['user', '[cook] said: Soup. ', '[cook] called tool `transfer_to_agent` with {"agentName":"root"}'],
      ),
      turn('[cook] got from `transfer_to_agent`: {"status":"transferred"}'),
    ]);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 4});
    expectValidLive(await it.stage.stored());
    const closed = await Promise.all(it.server.sessions.map((session) => session.closed));
    expect(closed.map(({early}) => early)).toEqual([true, true, true, true]);
  });

  test('makes the next live run begin with the agent that spoke last', async () => {
    await using it = await transferStage();
    const {second, reading} = await handedOver(it);
    await finish(it, second, reading);
    const liveRequestQueue = new LiveRequestQueue();
    const next = it.read({liveRequestQueue});
    const third = await connected(it);
    await third.message('clientContent');
    await liveRequestQueue.sendContent({parts: [{text: 'Are you there?'}]});
    await third.message('clientContent', 1);
    await finish(it, third, next, {queue: liveRequestQueue});
    expect(it.server.sessions.map(modelOf)).toEqual(['live-root', 'live-clerk', 'live-clerk'].map((name) => `models/${name}`));
    expect(wire(third)).toEqual([
      history(['user', 'hi'], ['user', CALLED], ['user', TRANSFERRED], ['model', 'Bye.']),
      turn('Are you there?'),
    ]);
    // And so does a run of another kind.
    const model = new ScriptedLlm({steps: ['Still here.']});
    const {collected} = await it.chat('And you?', {subAgents: [new LlmAgent({name: 'clerk', model})]});
    expect(collected.events.map(({author}) => author)).toEqual(['clerk']);
  });

  test('asks the callbacks around each agent once, those of the new one within those of the old', async () => {
    const asked: string[] = [];
    const around = (name: string): object => ({
      beforeAgentCallback: () => void asked.push(`before ${name}`),
      afterAgentCallback: () => void asked.push(`after ${name}`),
    });
    await using it = await transferStage({root: around('root'), subAgents: [agentOf('clerk', around('clerk'))]});
    const {second, reading} = await handedOver(it);
    await finish(it, second, reading);
    expect(asked).toEqual(['before root', 'before clerk', 'after clerk', 'after root']);
  });

  test('is seen by plugins as the work of two agents in one run', async () => {
    const seen: string[] = [];
    class Watcher extends BasePlugin {
      override async beforeRunCallback(): Promise<undefined> {
        seen.push('run');
      }
      override async beforeAgentCallback({agent}: {agent: BaseAgent}): Promise<undefined> {
        seen.push(`before ${agent.name}`);
      }
      override async afterAgentCallback({agent}: {agent: BaseAgent}): Promise<undefined> {
        seen.push(`after ${agent.name}`);
      }
      override async beforeToolCallback({tool}: {tool: BaseTool}): Promise<undefined> {
        seen.push(tool.name);
      }
      override async afterRunCallback(): Promise<void> {
        seen.push('over');
      }
    }
    await using it = await transferStage({runner: {plugins: [new Watcher('watcher')]}});
    const {second, reading} = await handedOver(it);
    await finish(it, second, reading);
    expect(seen).toEqual(['run', 'before root', 'transfer_to_agent', 'before clerk', 'after clerk', 'after root', 'over']);
  });

  test('to an agent whose callback answers for it ends the run with that, without another connection', async () => {
    const beforeAgentCallback = (): {parts: {text: string}[]} => ({parts: [{text: 'Closed.'}]});
    await using it = await transferStage({subAgents: [agentOf('clerk', {beforeAgentCallback})]});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk')]);
    const {outcome} = await reading.end;
    expect(reading.lines).toEqual([CALL, ANSWER, 'clerk: "Closed."']);
    expect(outcome.kind).toBe('done');
    expect(it.queue.closed).toBe(true);
    expect(it.server.sessions).toHaveLength(1);
  });

  test('counts the replies of both agents for the limit of the run', async () => {
    await using it = await transferStage({runConfig: {maxLlmCalls: 2}});
    const {second, reading} = await handedOver(it);
    second.say('One.');
    second.completeTurn();
    await reading.until('clerk: "One." [turn complete]');
    second.say('Two.');
    const {outcome} = await reading.end;
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 2});
    expect(await second.closed).toMatchObject({early: true});
    expectValidLive(await it.stage.stored());
  });

  test('leaves an agent without others around it as it was', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await it.finish(session, reading);
    expect(declared(session)).toEqual([]);
    expect(session.setup).not.toHaveProperty('systemInstruction');
  });
});
