// What people reported about agents that work together: hand-overs, workflows, and what is lost between them.
import {describe, expect, test} from 'vitest';
import {
  BasePlugin,
  EXIT_LOOP,
  FunctionTool,
  getFunctionResponses,
  LlmCallsLimitExceededError,
  LoopAgent,
  ParallelAgent,
  SequentialAgent,
  type BaseAgent,
  type Event,
  type Context,
  type LlmAgentConfig,
} from 'sluice';
import {functionCalls, type ScriptedStep} from 'sluice/testing';
import {z} from 'zod';
import {expectValid} from '../stories/kit.ts';
import {answer, Desk, scripted} from './desk.ts';

const handOver = {name: 'transfer_to_agent', args: {agentName: 'clerk'}};
const to = (agentName: string): ScriptedStep => functionCalls({...handOver, args: {agentName}});
const tool = (name: string, execute: (context: Context) => unknown): FunctionTool =>
  new FunctionTool({name, description: `${name}.`, execute: (_, context) => execute(context)});

describe('a hand-over', () => {
  const pair = (root: ScriptedStep[], clerk: ScriptedStep[], config: Partial<LlmAgentConfig> = {}, clerks: Partial<LlmAgentConfig> = {}) =>
    scripted('root', root, {...config, subAgents: [scripted('clerk', clerk, clerks)]});

  // google/adk-python#5633, google/adk-java#592
  test.each([
    [true, ['root: transfer_to_agent={"status":"transferred"}', 'clerk: "At your service."']],
    [false, ['root: transfer_to_agent={"error":"The user refused this call"}', 'root: "I stay."']],
  ])('that a hook has the user confirm goes on in another process (confirmed: %s)', async (confirmed, said) => {
    const gate: Partial<LlmAgentConfig> = {
      beforeToolCallback: ({tool: {name}, context}) => {
        if (name !== 'transfer_to_agent' || context.toolConfirmation) return undefined;
        context.requestConfirmation({hint: 'Hand over?'});
        return {status: 'asked'};
      },
    };
    const desk = new Desk();
    expect((await desk.run(pair([functionCalls(handOver)], [], gate), 'go')).outcome.kind).toBe('waiting');
    expect(desk.pending).toMatchObject([{author: 'root', toolName: 'transfer_to_agent', message: 'Hand over?'}]);
    const next = await desk.run(pair(['I stay.'], ['At your service.'], gate), [answer(desk.pending[0], {confirmed})]);
    expect([next.said, next.outcome.kind]).toEqual([said, 'done']);
    const whoseTurn = await desk.run(pair(['Root.'], ['Clerk.'], gate), 'and now?');
    expect(whoseTurn.said).toEqual([confirmed ? 'clerk: "Clerk."' : 'root: "Root."']);
  });

  // google/adk-python#1971
  test('takes along what a call beside it has written to the state', async () => {
    const note = tool('note', ({state}) => state.set('customer', 'Ann'));
    const desk = new Desk();
    const clerk = scripted('clerk', ['Hello Ann.'], {instruction: 'Greet {customer}.'});
    await desk.run(scripted('root', [functionCalls(handOver, {name: 'note'})], {tools: [note], subAgents: [clerk]}), 'I am Ann.');
    expect(clerk.model.requests[0]?.config.systemInstruction).toMatch(/^Greet Ann\./);
  });

  // google/adk-js#38, #82: agents that were made before their parent find their peers.
  test('goes from one sub-agent to another', async () => {
    const billing = scripted('billing', [to('support')]);
    const support = scripted('support', ['Turn it off and on.']);
    const root = scripted('root', [to('billing')], {subAgents: [billing, support]});
    expect((await new Desk().run(root, 'I paid and cannot log in.')).said).toEqual([
      'root: transfer_to_agent({"agentName":"billing"})',
      'root: transfer_to_agent={"status":"transferred"}',
      'billing: transfer_to_agent({"agentName":"support"})',
      'billing: transfer_to_agent={"status":"transferred"}',
      'support: "Turn it off and on."',
    ]);
  });

  // google/adk-js#484
  test('takes the budget of model calls along', async () => {
    const clerk = scripted('clerk', [functionCalls({name: 'nothing'}), functionCalls({name: 'nothing'}), 'never asked']);
    const {error, outcome} = await new Desk().run(scripted('root', [to('clerk')], {subAgents: [clerk]}), 'go', {maxLlmCalls: 3});
    expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 3});
  });
});

describe('calls of one reply', () => {
  // google/adk-go#354, #493, #623
  test('all keep what they write: state and files', async () => {
    const write = (name: string): FunctionTool =>
      tool(name, ({state, actions}) => {
        state.set(name, name);
        actions.artifactDelta[`${name}.txt`] = 0;
      });
    const names = ['a', 'b', 'c'];
    const desk = new Desk();
    await desk.run(scripted('root', [functionCalls(...names.map((name) => ({name}))), 'done'], {tools: names.map(write)}), 'go');
    expect(desk.events[2]?.actions).toMatchObject({
      stateDelta: {a: 'a', b: 'b', c: 'c'},
      artifactDelta: {'a.txt': 0, 'b.txt': 0, 'c.txt': 0},
    });
  });

  // google/adk-go#357: some models count calls and responses.
  test('are answered in one content', async () => {
    const agent = scripted('root', [functionCalls({id: '1', name: 'look'}, {id: '2', name: 'look'}, {id: '3', name: 'look'}), 'done'], {
      tools: [tool('look', () => 1)],
    });
    await new Desk().run(agent, 'go');
    const {contents = []} = agent.model.requests[1] ?? {};
    expect(contents.map(({parts}) => parts?.map(({functionCall, functionResponse}) => functionCall?.id ?? functionResponse?.id))).toEqual([
      [undefined],
      ['1', '2', '3'],
      ['1', '2', '3'],
    ]);
  });
});

describe('branches', () => {
  // google/adk-python#3940
  test('run each call once, however slow their tools are, and each comes to an output', async () => {
    const gate = Promise.withResolvers<void>();
    const started: string[] = [];
    const fetch = tool('fetch', async ({agentName}) => {
      if (started.push(agentName) === 2) gate.resolve();
      await gate.promise;
      return 'fetched';
    });
    const output = functionCalls({name: 'set_model_response', args: {ok: true}});
    const branch = (name: string): BaseAgent =>
      scripted(name, [functionCalls({name: 'fetch'}), output], {
        tools: [fetch],
        outputSchema: z.object({ok: z.boolean()}),
        outputKey: name,
      });
    const desk = new Desk();
    const {outcome} = await desk.run(new ParallelAgent({name: 'both', subAgents: [branch('left'), branch('right')]}), 'go');
    expect([started.toSorted(), outcome.kind, outcome.llmCalls]).toEqual([['left', 'right'], 'done', 4]);
    expect(Object.assign({}, ...desk.events.map(({actions}) => actions.stateDelta))).toEqual({left: {ok: true}, right: {ok: true}});
  });

  // google/adk-python#3612, #2404, #2770
  test("with includeContents 'none' see their own calls and responses, however the Events mix", async () => {
    const look = tool('look', ({agentName}) => agentName);
    const branch = (name: string) => scripted(name, [functionCalls({name: 'look'}), 'done'], {tools: [look], includeContents: 'none'});
    const agents = [branch('a'), branch('b'), branch('c')];
    await new Desk().run(new ParallelAgent({name: 'all', subAgents: agents}), 'go');
    for (const {name, model} of agents) {
      const said = model.requests[1]?.contents.flatMap(({parts = []}) =>
        parts.map((part) => part.text ?? part.functionCall?.name ?? part.functionResponse?.response),
      );
      expect(said).toEqual(['go', 'look', {result: name}]);
    }
  });
});

// google/adk-go#522, google/adk-python#1376, #2808, #526
test('exit_loop leaves the loop that it is called in: the loop around it and the sequence go on', async () => {
  const critic = scripted('critic', [functionCalls({name: 'exit_loop'}), functionCalls({name: 'exit_loop'})], {tools: [EXIT_LOOP]});
  const inner = new LoopAgent({name: 'inner', subAgents: [critic]});
  const outer = new LoopAgent({name: 'outer', maxIterations: 2, subAgents: [inner, scripted('editor', ['One.', 'Two.'])]});
  const {said} = await new Desk().run(new SequentialAgent({name: 'all', subAgents: [outer, scripted('summary', ['Done.'])]}), 'go');
  expect(said.filter((text) => !text.startsWith('critic'))).toEqual(['editor: "One."', 'editor: "Two."', 'summary: "Done."']);
});

// google/adk-js#575, google/adk-python#7184
test('an Event that a plugin replaces is the one that is stored, and that the model is told later', async () => {
  class Hide extends BasePlugin {
    override async onEventCallback({event}: {event: Event}): Promise<Event | undefined> {
      return event.author === 'root' ? {...event, content: {role: 'model', parts: [{text: 'It is ***.'}]}} : undefined;
    }
  }
  const desk = new Desk({plugins: [new Hide('hide')]});
  expect((await desk.run(scripted('root', ['It is 1234.']), 'My number?')).said).toEqual(['root: "It is ***."']);
  const agent = scripted('root', ['Again.']);
  await desk.run(agent, 'Again?');
  expect(desk.saved).not.toContain('1234');
  expect(agent.model.requests[0]?.contents[1]).toEqual({role: 'model', parts: [{text: 'It is ***.'}]});
});

// google/adk-python#5631, google/adk-js#645, #646
test('a model that says nothing after its tools is told to the reader, with the tokens that it took, and the results stay', async () => {
  const usageMetadata = {totalTokenCount: 5};
  const empty: ScriptedStep = {content: {role: 'model', parts: []}, finishReason: 'STOP', usageMetadata};
  const agent = scripted('root', [functionCalls({name: 'look'}), empty, empty, empty], {tools: [tool('look', () => 1)]});
  const desk = new Desk();
  const {events, outcome} = await desk.run(agent, 'go');
  expect(getFunctionResponses(events[1]!).map(({response}) => response)).toEqual([{result: 1}]);
  expect(events.at(-1)?.errorCode).toBeDefined();
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 4, usage: {totalTokenCount: 15}, errorCode: events.at(-1)?.errorCode});
  expectValid(desk.events);
});
