// What people reported about agents deep in a tree that wait for a person, and go on in another process. More of it is proved in
// `tests/agents/workflow/resuming`.
import {describe, expect, test} from 'vitest';
import {
  AgentTool,
  FunctionTool,
  getPendingUserInputRequests,
  LongRunningFunctionTool,
  ParallelAgent,
  SequentialAgent,
  type BaseTool,
  type LlmAgent,
  type LlmAgentConfig,
  type State,
} from 'sluice';
import {collect, functionCalls, type ScriptedStep} from 'sluice/testing';
import {expectValid, line, stage} from '../stories/kit.ts';
import {answer, Desk, scripted} from './desk.ts';

const handOver = functionCalls({name: 'transfer_to_agent', args: {agentName: 'clerk'}});

/** A tool that is to be confirmed, and what was done with it. */
function gated(): {readonly done: string[]; readonly deploy: FunctionTool} {
  const done: string[] = [];
  const execute = (_: unknown, {agentName}: {agentName: string}): string => (done.push(agentName), 'deployed');
  return {done, deploy: new FunctionTool({name: 'deploy', description: 'Deploys.', requireConfirmation: true, execute})};
}

describe('a sequence of agents that ask a person', () => {
  const review = new FunctionTool({
    name: 'review',
    description: 'Has a person look at a plan.',
    parameters: {type: 'object', properties: {plan: {type: 'string'}}},
    execute: ({plan}, context) => {
      if (context.toolConfirmation) {
        context.state.set(context.agentName, plan);
        return {approved: plan};
      }
      context.requestConfirmation({hint: `Is ${String(plan)} good?`, payload: {plan}});
      return {status: 'asked'};
    },
  });
  const reviewed = (plan: string): ScriptedStep => functionCalls({name: 'review', args: {plan}});
  const steps = {planner: [] as ScriptedStep[], executor: [] as ScriptedStep[], validator: [] as ScriptedStep[]};
  const tree = (next: Partial<typeof steps>): SequentialAgent =>
    new SequentialAgent({
      name: 'all',
      subAgents: Object.entries({...steps, ...next}).map(([name, list]) => scripted(name, list, {tools: [review]})),
    });

  // google/adk-python#6198, #3018; google/adk-java#1189
  test('stops at each, goes on after each, and runs nobody again', async () => {
    const desk = new Desk();
    const first = await desk.run(tree({planner: [reviewed('P1')]}), 'go');
    expect([first.outcome.kind, desk.pending]).toMatchObject(['waiting', [{author: 'planner', message: 'Is P1 good?'}]]);

    // Refused: the same agent refines, and asks again.
    const refused = await desk.run(tree({planner: [reviewed('P2')]}), [answer(desk.pending[0], {confirmed: false})]);
    expect(refused.said[0]).toBe('planner: review={"error":"The user refused this call"}');
    expect([refused.outcome.kind, desk.pending]).toMatchObject(['waiting', [{author: 'planner', message: 'Is P2 good?'}]]);

    const approved = await desk.run(tree({planner: ['Planned.'], executor: [reviewed('E1')]}), [
      answer(desk.pending[0], {confirmed: true}),
    ]);
    expect(approved.said.filter((text) => !text.includes('adk_request'))).toEqual([
      'planner: review={"approved":"P2"}',
      'planner: "Planned."',
      'executor: review({"plan":"E1"})',
      'executor: review={"status":"asked"} [waits:1]',
      'all:  [waits:2]',
    ]);
    const last = await desk.run(tree({executor: ['Done.'], validator: ['All well.']}), [answer(desk.pending[0], {confirmed: true})]);
    expect([last.said, last.outcome.kind]).toEqual([
      ['executor: review={"approved":"E1"}', 'executor: "Done."', 'validator: "All well."'],
      'done',
    ]);
    expect(Object.assign({}, ...desk.events.map(({actions}) => actions.stateDelta))).toEqual({planner: 'P2', executor: 'E1'});
  });
});

describe('a sub-agent', () => {
  const note = (state: State): undefined => {
    state.set('time', 'noon');
  };

  const tree = (root: ScriptedStep[], clerk: ScriptedStep[], tools: readonly BaseTool[], config: Partial<LlmAgentConfig> = {}): LlmAgent =>
    scripted('root', root, {...config, subAgents: [scripted('clerk', clerk, {tools})]});

  // google/adk-python#3649, #3018
  test.each([true, false])(
    'whose call is confirmed runs it itself, though a callback of the root writes first (confirmed: %s)',
    async (confirmed) => {
      const {done, deploy} = gated();
      const config: Partial<LlmAgentConfig> = {beforeAgentCallback: ({state}) => note(state)};
      const desk = new Desk();
      await desk.run(tree([handOver], [functionCalls({name: 'deploy'})], [deploy], config), 'go');
      expect(desk.pending).toMatchObject([{author: 'clerk', toolName: 'deploy'}]);
      const {said} = await desk.run(tree([], ['Well.'], [deploy], config), [answer(desk.pending[0], {confirmed})]);
      const response = confirmed ? '{"result":"deployed"}' : '{"error":"The user refused this call"}';
      expect(said).toEqual([`clerk: deploy=${response}`, 'clerk: "Well."']);
      expect(done).toEqual(confirmed ? ['clerk'] : []);
    },
  );

  // google/adk-python#5349, openai/openai-agents-js#1435
  test('with one long-running call after the other is resumed each time', async () => {
    const tools = ['pick', 'confirm', 'sign'].map(
      (name) => new LongRunningFunctionTool({name, description: name, execute: () => undefined}),
    );
    const desk = new Desk();
    const names = ['pick', 'confirm', 'sign'];
    await desk.run(tree([handOver], [functionCalls({id: 'pick', name: 'pick'})], tools), 'go');
    for (const [index, name] of names.entries()) {
      const next = names[index + 1];
      const step = next === undefined ? 'Signed.' : functionCalls({id: next, name: next});
      const run = await desk.run(tree([], [step], tools), [{functionResponse: {id: name, name, response: {by: name}}}]);
      expect(run.outcome).toMatchObject({kind: next === undefined ? 'done' : 'waiting', llmCalls: 1});
      expect(run.events.map(({author}) => author)).not.toContain('root');
    }
    expectValid(desk.events);
  });

  // google/adk-web#121, google/adk-python#3018: behind an AgentTool nobody could answer, so it is said at once.
  test('behind an AgentTool that asks is an error of the call, and runs nothing', async () => {
    const {done, deploy} = gated();
    const clerk = scripted('clerk', [functionCalls({name: 'deploy'})], {tools: [deploy]});
    const root = scripted('root', [functionCalls({name: 'clerk', args: {request: 'Deploy!'}}), 'I cannot.'], {
      tools: [new AgentTool({agent: clerk})],
    });
    const desk = new Desk();
    const {said, outcome} = await desk.run(root, 'go');
    expect(said[1]).toMatch(/^root: clerk=\{"error":".*`clerk`.* waits for an answer/);
    expect([said.at(-1), outcome.kind, desk.pending, done]).toEqual(['root: "I cannot."', 'done', [], []]);
  });
});

describe('an answer', () => {
  const root = (steps: readonly ScriptedStep[], tools: readonly BaseTool[]): LlmAgent => scripted('root', steps, {tools});

  // google/adk-js#771: two clicks, two requests at the same time.
  test('that comes twice at once runs the call once: the second is told that it was answered', async () => {
    const {done, deploy} = gated();
    const it = await stage({steps: [functionCalls({name: 'deploy'}), 'Done.', 'Again.'], agent: {tools: [deploy]}});
    await collect(it.run());
    const parts = [answer(getPendingUserInputRequests(await it.stored())[0], {confirmed: true})];
    const request = {newMessage: {role: 'user', parts}};
    const [one, other] = await Promise.all([collect(it.run('', request)), collect(it.run('', request))]);
    expect([one.events.map(line), other.events, done]).toEqual([['root: deploy={"result":"deployed"}', 'root: "Done."'], [], ['root']]);
    expect(other.error).toMatchObject({code: 'FUNCTION_CALL_ANSWERED'});
  });

  // vercel/ai#19966
  test('runs a call that can be stopped like any other', async () => {
    const {promise: started, resolve} = Promise.withResolvers<AbortSignal>();
    const execute = (_: unknown, {abortSignal}: {abortSignal: AbortSignal}): Promise<never> => {
      resolve(abortSignal);
      return new Promise((_done, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason), {once: true}));
    };
    const deploy = new FunctionTool({name: 'deploy', description: 'Deploys.', requireConfirmation: true, execute});
    const it = await stage({steps: [functionCalls({name: 'deploy'})], agent: {tools: [deploy]}});
    await collect(it.run());
    const parts = [answer(getPendingUserInputRequests(await it.stored())[0], {confirmed: true})];
    const run = it.run('', {newMessage: {role: 'user', parts}});
    const reading = collect(run);
    const signal = await started;
    await run.return();
    expect([signal.aborted, (await reading).outcome.kind]).toEqual([true, 'return']);
    expect((await it.stored()).map(line).at(-1)).toBe('root: deploy={"error":"cancelled; it may have taken effect","started":true}');
  });

  // google/adk-java#1189: an exception there.
  test('to a call whose tool the next version of the program does not have is told to the model', async () => {
    const desk = new Desk();
    await desk.run(root([functionCalls({name: 'deploy'})], [gated().deploy]), 'go');
    const {said, outcome} = await desk.run(root(['It is gone.'], []), [answer(desk.pending[0], {confirmed: true})]);
    expect(said).toEqual(['root: deploy={"error":"There is no tool `deploy`. The tools are: none"}', 'root: "It is gone."']);
    expect([outcome.kind, desk.pending]).toEqual(['done', []]);
  });
});

// google/adk-python#5450, of branches: what has finished is not run again, whoever is answered.
test('branches that wait are answered one by one, and those that have finished are not run again', async () => {
  const {done, deploy} = gated();
  const look = new FunctionTool({name: 'look', description: 'Looks.', execute: () => done.push('look')});
  const tree = (a: ScriptedStep[], b: ScriptedStep[], c: ScriptedStep[]): ParallelAgent =>
    new ParallelAgent({
      name: 'all',
      subAgents: [scripted('a', a, {tools: [deploy]}), scripted('b', b, {tools: [deploy]}), scripted('c', c, {tools: [look]})],
    });
  const desk = new Desk();
  const asks = functionCalls({name: 'deploy'});
  await desk.run(tree([asks], [asks], [functionCalls({name: 'look'}), 'Looked.']), 'go');
  const [a, b] = desk.pending;
  const one = await desk.run(tree([], ['B.'], []), [answer(b, {confirmed: true})]);
  const other = await desk.run(tree(['A.'], [], []), [answer(a, {confirmed: true})]);
  expect([one.outcome.kind, other.outcome.kind, done]).toEqual(['waiting', 'done', ['look', 'b', 'a']]);
});
