import {expect, test, vi} from 'vitest';
import {FunctionTool, InMemoryRunner, InvalidOptionError, LlmAgent, Runner, StreamingMode, type RunnerConfig} from 'sluice';
import {collect, deltas, functionCalls, hang, ScriptedLlm} from 'sluice/testing';
import {idle, line, stage} from '../stories/kit.ts';

/** Timers that hold the process. */
const holding = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test('a run holds the process while its reader waits, and not while the reader is idle', async () => {
  const it = await stage({steps: [deltas('a', 'b')], runConfig: {streamingMode: StreamingMode.SSE}});
  const before = holding();
  const run = it.run();
  expect(holding()).toBe(before);
  const next = run.next();
  expect(holding()).toBe(before + 1);
  await next;
  expect(holding()).toBe(before);
  await run.return();
  expect(holding()).toBe(before);
});

test('a run that lost its session to a later one ends in a conflict that holds what was not stored', async () => {
  const it = await stage({
    steps: [functionCalls({name: 'wait'}), 'never'],
    agent: {tools: [new FunctionTool({name: 'wait', description: 'Waits.', execute: () => 'ok'})]},
  });
  const run = it.run();
  await run.next();
  await it.runner.sessionService.claimSession?.({appName: 'app', userId: 'u', sessionId: 's'});
  const error = await run.next().catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({name: 'SessionConflictError', code: 'SESSION_CONFLICT'});
  expect((error as {events: Parameters<typeof line>[0][]}).events.map(line)).toEqual(['root: wait={"result":"ok"}']);
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: wait({})']);
});

test('an append from outside a run never makes one stale', async () => {
  const it = await stage({
    steps: [functionCalls({name: 'a'}), 'done'],
    agent: {tools: [new FunctionTool({name: 'a', description: 'A.', execute: () => 1})]},
  });
  const run = it.run();
  await run.next();
  const session = await it.runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'});
  await it.runner.sessionService.appendEvent({
    session: session!,
    event: {
      id: 'outside',
      invocationId: '',
      author: 'user',
      timestamp: 1,
      actions: {stateDelta: {seen: 1}, artifactDelta: {}, requestedAuthConfigs: {}, requestedToolConfirmations: {}},
    },
  });
  expect((await collect(run)).outcome.kind).toBe('done');
});

test('temp: state that comes with the message lives as long as the run', async () => {
  const seen: unknown[] = [];
  const it = await stage({steps: ['a', 'b'], agent: {instruction: ({state}) => (seen.push(state.get('temp:x')), '')}});
  await collect(it.run('go', {stateDelta: {'temp:x': 1, kept: 2}}));
  await collect(it.run('go'));
  expect(seen).toEqual([1, undefined]);
  expect(await it.state()).toEqual({kept: 2});
});

test("the runner's runConfig gives defaults, a run's own value wins, and undefined is absent", async () => {
  const it = await stage({steps: [deltas('a'), deltas('b'), deltas('c')], runConfig: {streamingMode: StreamingMode.SSE}});
  expect((await collect(it.run())).events).toHaveLength(2);
  expect((await collect(it.run('go', {runConfig: {streamingMode: StreamingMode.NONE}}))).events).toHaveLength(1);
  expect((await collect(it.run('go', {runConfig: {streamingMode: undefined}}))).events).toHaveLength(2);
});

test('an option that only ADK knows is told of, and the run goes on', async () => {
  const it = await stage({steps: ['done']});
  expect((await collect(it.run('go', {runConfig: {supportCfc: true}}))).outcome.kind).toBe('done');
  expect(it.diagnostics).toMatchObject([{code: 'OPTION_UNUSED', name: 'runConfig.supportCfc'}]);
});

test('diagnostics warn on the console by default, once per code and name', async () => {
  const warn = vi.spyOn(console, 'warn').mockImplementation(() => {});
  try {
    const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: new ScriptedLlm({steps: ['a', 'b']})})});
    for (const _ of [1, 2])
      await collect(runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'x'}]}, runConfig: {proactivity: {}}}));
    expect(warn).toHaveBeenCalledTimes(1);
  } finally {
    warn.mockRestore();
  }
});

test('an onDiagnostic that throws changes nothing', async () => {
  const it = await stage({
    steps: [hang()],
    agent: {afterAgentCallback: () => Promise.reject(new Error('x'))},
    runner: {
      onDiagnostic: () => {
        throw new Error('observer');
      },
    },
  });
  const run = it.run();
  void run.next();
  await idle();
  await run.return();
  expect(await run.settled).toMatchObject({kind: 'return'});
});

test.each([
  ['an unknown option', {session: 1}, /session/],
  ['no app name', {appName: ''}, /appName/],
  ['an agent that is none', {agent: {}}, /agent/],
  ['a session service that is none', {sessionService: {}}, /sessionService/],
  ['a wrong run option', {runConfig: {timeoutMs: 0}}, /timeoutMs/],
  ['a wrong onDiagnostic', {onDiagnostic: 1}, /onDiagnostic/],
])('a runner with %s is refused at construction', (_, options, message) => {
  const good = {
    appName: 'a',
    agent: new LlmAgent({name: 'root', model: new ScriptedLlm()}),
    sessionService: new InMemoryRunner({agent: new LlmAgent({name: 'x', model: new ScriptedLlm()})}).sessionService,
  };
  const make = (): Runner => new Runner({...good, ...options} as unknown as RunnerConfig);
  expect(make).toThrow(InvalidOptionError);
  expect(make).toThrow(message);
});
