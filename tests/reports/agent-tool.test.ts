// What people reported about agents that are tools of other agents: what leaks into them, out of them, and what is lost on the way.
import {describe, expect, test} from 'vitest';
import {
  AgentTool,
  BaseAgent,
  createEvent,
  FunctionTool,
  LlmCallsLimitExceededError,
  StreamingMode,
  ToolExecutionMode,
  type Event,
  type InvocationContext,
  type LlmAgent,
} from 'sluice';
import {collect, deltas, functionCalls, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, stage} from '../stories/kit.ts';
import {scripted} from './desk.ts';

const asks = (...names: string[]): ScriptedStep => functionCalls(...names.map((name) => ({name, args: {request: `for ${name}`}})));
const toolsOf = (...agents: BaseAgent[]): AgentTool[] => agents.map((agent) => new AgentTool({agent}));

describe('an agent as a tool', () => {
  // google/adk-js#175, #209; google/adk-python#892, #2209
  test('has the user, the app and the state of its caller, and what it writes is there for whoever comes next', async () => {
    const seen: unknown[] = [];
    const expert = scripted('expert', ['set A'], {
      instruction: 'For {user:name}: {topic}.',
      outputKey: 'dataset',
      beforeAgentCallback: ({userId, session: {appName, id}}) => void seen.push([userId, appName, id === 's']),
      afterModelCallback: ({context}) => {
        context.state.set('model', 'heard');
      },
    });
    const it = await stage({steps: [asks('expert'), 'done'], agent: {tools: toolsOf(expert), instruction: 'Data: {dataset?}'}});
    await collect(it.run('go', {stateDelta: {'user:name': 'Ann', topic: 'ships'}}));
    expect(seen).toEqual([['u', 'app', false]]);
    expect(expert.model.requests[0]?.config.systemInstruction).toBe('For Ann: ships.');
    expect(await it.state()).toEqual({'user:name': 'Ann', topic: 'ships', dataset: 'set A', model: 'heard'});
    expect(it.model.requests[1]?.config.systemInstruction).toBe('Data: set A');
  });

  // google/adk-js#294, #302
  test('is called again and again, also beside itself, and no call sees another', async () => {
    const expert = scripted('expert', ['1', '2', '3', '4']);
    const it = await stage({steps: [asks('expert', 'expert', 'expert'), asks('expert'), 'done'], agent: {tools: toolsOf(expert)}});
    const {events} = await collect(it.run());
    expect(events.map(line).slice(1, 2)).toEqual(['root: expert={"result":"1"} expert={"result":"2"} expert={"result":"3"}']);
    expect(expert.model.requests.map(({contents}) => contents)).toEqual(
      Array.from({length: 4}, () => [{role: 'user', parts: [{text: 'for expert'}]}]),
    );
    const {sessions} = await it.runner.sessionService.listSessions({appName: 'app', userId: 'u'});
    expect(sessions.map(({id}) => id)).toEqual(['s']);
  });

  // google/adk-python#1153
  test.each([ToolExecutionMode.PARALLEL, ToolExecutionMode.SEQUENTIAL])(
    'beside another one: what both write is in the one Event that answers them, once (%s)',
    async (toolExecutionMode) => {
      const roll = scripted('roll', ['six'], {outputKey: 'rolled'});
      const prime = scripted('prime', ['yes'], {outputKey: 'primed'});
      const it = await stage({
        steps: [asks('roll', 'prime'), 'done'],
        agent: {tools: toolsOf(roll, prime)},
        runConfig: {toolExecutionMode},
      });
      const {events} = await collect(it.run());
      expect(events.map(({actions}) => actions.stateDelta)).toEqual([{}, {rolled: 'six', primed: 'yes'}, {}]);
      expect(await it.state()).toEqual({rolled: 'six', primed: 'yes'});
    },
  );

  // google/adk-js#323
  test('answers with what it said, and not with what it thought', async () => {
    const thinking: ScriptedStep = {content: {role: 'model', parts: [{text: 'Hm. ', thought: true}, {text: '42'}]}, finishReason: 'STOP'};
    const it = await stage({steps: [asks('expert'), 'done'], agent: {tools: toolsOf(scripted('expert', [thinking]))}});
    expect((await collect(it.run())).events.map(line)[1]).toBe('root: expert={"result":"42"}');
  });

  // google/adk-js#484
  test('has no budget of its own: two levels down its model calls count for the run', async () => {
    const deep = scripted(
      'deep',
      Array.from({length: 9}, () => functionCalls({name: 'nothing'})),
    );
    const middle = scripted('middle', [asks('deep'), 'unused'], {tools: toolsOf(deep)});
    const it = await stage({steps: [asks('middle'), 'unused'], agent: {tools: toolsOf(middle)}, runConfig: {maxLlmCalls: 5}});
    const {error, outcome} = await collect(it.run());
    expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
    expect(outcome).toMatchObject({kind: 'limit', llmCalls: 5});
    expect(deep.model.calls).toBe(3);
    expectValid(await it.stored());
  });

  // google/adk-js#209, mastra-ai/mastra#14820: the signal of the caller is that of the innermost body.
  test('two levels down is stopped with its caller', async () => {
    const {promise: started, resolve} = Promise.withResolvers<AbortSignal>();
    const wait = new FunctionTool({
      name: 'wait',
      description: 'Waits.',
      execute: (_, {abortSignal}) => {
        resolve(abortSignal);
        return new Promise((_done, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason), {once: true}));
      },
    });
    const deep = scripted('deep', [functionCalls({name: 'wait'})], {tools: [wait]});
    const middle = scripted('middle', [asks('deep'), 'unused'], {tools: toolsOf(deep)});
    const it = await stage({steps: [asks('middle'), 'unused'], agent: {tools: toolsOf(middle)}});
    const stop = new AbortController();
    const reading = collect(it.run('go', {abortSignal: stop.signal}));
    const signal = await started;
    stop.abort('enough');
    const {error, outcome} = await reading;
    await idle();
    expect([error, outcome.kind, outcome.abandoned, signal.aborted]).toEqual(['enough', 'abort', [], true]);
    expect([middle.model.calls, deep.model.calls, it.model.calls]).toEqual([1, 1, 1]);
    expectNoListeners(stop.signal);
    expectValid(await it.stored());
  });

  // google/adk-python#3355, #3467: a failure two levels down, or an agent that says nothing, is the error of one call.
  test('that fails, or says nothing, is told to the model, beside the results of its siblings', async () => {
    class Silent extends BaseAgent {
      protected async *runAsyncImpl(_: InvocationContext): AsyncGenerator<Event, void, undefined> {}
    }
    class Broken extends BaseAgent {
      protected async *runAsyncImpl(_: InvocationContext): AsyncGenerator<Event, void, undefined> {
        yield createEvent({author: this.name, content: {role: 'model', parts: [{text: 'One moment.'}]}});
        throw new Error('out of order');
      }
    }
    const agents = [new Silent({name: 'silent'}), new Broken({name: 'broken'}), scripted('fine', ['Fine.'])];
    const it = await stage({steps: [asks('silent', 'broken', 'fine'), 'done'], agent: {tools: toolsOf(...agents)}});
    const {events, outcome} = await collect(it.run());
    expect(events.map(line)[1]).toMatch(/^root: silent=\{.*\} broken=\{"error":"out of order"\} fine=\{"result":"Fine."\}$/);
    expect(outcome.kind).toBe('done');
  });
});

// google/adk-js#334, google/adk-python#3984, #4905, #4095, #3147
describe('what an agent does as a tool', () => {
  const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => 'seen'});
  const expert = (): LlmAgent => scripted('expert', [functionCalls({name: 'look'}), deltas('It ', 'is there.')], {tools: [look]});
  const runConfig = {streamingMode: StreamingMode.SSE};

  test('is shown while it does it, where that is asked for: calls, responses and text; and nothing of it is stored', async () => {
    const it = await stage({
      steps: [asks('expert'), 'done'],
      agent: {tools: [new AgentTool({agent: expert(), streamEvents: true})]},
      runConfig,
    });
    const {events} = await collect(it.run());
    const progress = events.flatMap((event) => {
      const {functionResponse} = event.content?.parts?.[0] ?? {};
      return event.partial && functionResponse?.name === 'expert' ? [functionResponse] : [];
    });
    expect(progress.map(({willContinue}) => willContinue)).toEqual(progress.map(() => true));
    expect(progress.map(({response}) => line(response as unknown as Event))).toEqual([
      'expert: look({})',
      'expert: look={"result":"seen"}',
      'expert: "It " [partial]',
      'expert: "is there." [partial]',
      'expert: "It is there."',
    ]);
    expect((await it.stored()).map(line)).toEqual([
      'user: "go"',
      'root: expert({"request":"for expert"})',
      'root: expert={"result":"It is there."}',
      'root: "done"',
    ]);
  });

  test('is not shown where it is not asked for', async () => {
    const it = await stage({steps: [asks('expert'), 'done'], agent: {tools: toolsOf(expert())}, runConfig});
    expect((await collect(it.run())).events.map(line)).toEqual([
      'root: expert({"request":"for expert"})',
      'root: expert={"result":"It is there."}',
      'root: "done"',
    ]);
  });
});
