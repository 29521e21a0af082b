import {describe, expect, test} from 'vitest';
import {
  createEvent,
  FunctionTool,
  InMemoryArtifactService,
  InvalidOptionError,
  LongRunningFunctionTool,
  RunnerClosedError,
  SessionBusyError,
  SessionNotFoundError,
  State,
  type Event,
} from 'sluice';
import {collect, functionCalls, type ScriptedStep} from 'sluice/testing';
import {expectNoListeners, expectValid, line, stage, type Stage} from '../stories/kit.ts';

const rewind = (it: Stage, rewindBeforeInvocationId: string): Promise<Event> =>
  it.runner.rewind({userId: 'u', sessionId: 's', rewindBeforeInvocationId});

/** Says something, and gives the id of the run. */
async function say(it: Stage, text: string): Promise<string> {
  const run = it.run(text);
  await collect(run);
  return run.invocationId;
}

/** A model call that says when it was asked, and never answers. */
function stalled(): {readonly step: ScriptedStep; readonly asked: Promise<void>} {
  const {promise, resolve} = Promise.withResolvers<void>();
  const step = (): Promise<never> => {
    resolve();
    return new Promise<never>(() => {});
  };
  return {step, asked: promise};
}

const asked = (it: Stage): unknown[] =>
  (it.model.requests.at(-1)?.contents ?? []).flatMap(({parts}) => (parts ?? []).map(({text}) => text));

const noted = new FunctionTool({
  name: 'note',
  description: 'Notes something.',
  parameters: {type: 'object', properties: {key: {type: 'string'}, value: {type: 'string'}}},
  execute: ({key, value}, {state}) => {
    state.set(String(key), value);
    return 'noted';
  },
});

describe('a rewind', () => {
  test('takes back a run and all after it for later runs, and the store keeps every Event', async () => {
    const it = await stage({steps: ['One.', 'Two.', 'Three.', 'Four.']});
    await say(it, 'first');
    const second = await say(it, 'second');
    await say(it, 'third');
    const event = await rewind(it, second);
    expect(event).toMatchObject({author: 'user', actions: {rewindBeforeInvocationId: second, stateDelta: {}, artifactDelta: {}}});
    expect(event.content).toBeUndefined();
    await say(it, 'fourth');
    expect(asked(it)).toEqual(['first', 'One.', 'fourth']);
    const stored = await it.stored();
    expect(stored.map(line)).toEqual([
      'user: "first"',
      'root: "One."',
      'user: "second"',
      'root: "Two."',
      'user: "third"',
      'root: "Three."',
      'user: ',
      'user: "fourth"',
      'root: "Four."',
    ]);
    expectValid(stored);
  });

  test('of the first run leaves nothing, and can be followed by another one', async () => {
    const it = await stage({steps: ['One.', 'Two.', 'Three.']});
    await rewind(it, await say(it, 'first'));
    await say(it, 'again');
    expect(asked(it)).toEqual(['again']);
    const stored = await it.stored();
    await rewind(it, stored.at(-1)?.invocationId ?? '');
    await say(it, 'once more');
    expect(asked(it)).toEqual(['once more']);
  });

  test('is refused for a run that is not there or was taken back, and stores nothing', async () => {
    const it = await stage({steps: ['One.']});
    const first = await say(it, 'first');
    await expect(rewind(it, 'e-none')).rejects.toThrow(/rewindBeforeInvocationId.*e-none/);
    await rewind(it, first);
    const before = await it.stored();
    await expect(rewind(it, first)).rejects.toBeInstanceOf(InvalidOptionError);
    expect(await it.stored()).toEqual(before);
    for (const request of [
      undefined,
      {},
      {userId: 'u', sessionId: 's'},
      {userId: 'u', sessionId: 's', rewindBeforeInvocationId: first, more: 1},
    ])
      await expect(it.runner.rewind(request as never)).rejects.toBeInstanceOf(InvalidOptionError);
    await expect(it.runner.rewind({userId: 'u', sessionId: 'none', rewindBeforeInvocationId: first})).rejects.toBeInstanceOf(
      SessionNotFoundError,
    );
  });

  test("brings the session's own state back, and leaves that of the user and of the app", async () => {
    const note = (key: string, value: string): ReturnType<typeof functionCalls> => functionCalls({name: 'note', args: {key, value}});
    const steps = [note('a', '1'), 'ok', note('a', '2'), note('b', '2'), note('user:b', '2'), note('app:b', '2'), 'ok'];
    const it = await stage({steps, agent: {tools: [noted]}});
    await say(it, 'first');
    const second = await say(it, 'second');
    expect(await it.state()).toEqual({a: '2', b: '2', 'user:b': '2', 'app:b': '2'});
    const event = await rewind(it, second);
    expect(event.actions.stateDelta).toEqual({a: '1', b: State.REMOVED});
    expect(await it.state()).toEqual({a: '1', 'user:b': '2', 'app:b': '2'});
  });

  test('brings back what the session was created with, also a key that was removed', async () => {
    const it = await stage({steps: ['ok']});
    const {sessionService} = it.runner;
    await sessionService.createSession({
      appName: 'app',
      userId: 'u',
      sessionId: 'made',
      state: {cart: ['tea'], kept: 1, 'user:name': 'Ada'},
    });
    const key = {userId: 'u', sessionId: 'made'};
    const run = it.run('go', {...key, stateDelta: {cart: [], kept: State.REMOVED, other: 1}});
    await collect(run);
    await it.runner.rewind({...key, rewindBeforeInvocationId: run.invocationId});
    const session = await sessionService.getSession({appName: 'app', ...key});
    expect(session?.state).toEqual({cart: ['tea'], kept: 1, 'user:name': 'Ada'});
  });

  test('of a store that does not know how a session began removes what no Event tells', async () => {
    const it = await stage({steps: ['ok']});
    const {sessionService} = it.runner;
    Object.assign(sessionService, {getInitialState: undefined});
    await sessionService.createSession({appName: 'app', userId: 'u', sessionId: 'made', state: {cart: ['tea']}});
    const key = {userId: 'u', sessionId: 'made'};
    const run = it.run('go', {...key, stateDelta: {cart: []}});
    await collect(run);
    await it.runner.rewind({...key, rewindBeforeInvocationId: run.invocationId});
    expect((await sessionService.getSession({appName: 'app', ...key}))?.state).toEqual({});
  });

  test("saves the session's files once more as they were", async () => {
    const artifactService = new InMemoryArtifactService();
    const save = new FunctionTool({
      name: 'save',
      description: 'Saves files.',
      execute: async (_args, context) => {
        const text = context.invocationId;
        for (const name of ['report.txt', 'new.txt', 'user:own.txt']) await context.saveArtifact(name, {text});
        return 'saved';
      },
    });
    const it = await stage({steps: [functionCalls({name: 'save'}), 'ok'], agent: {tools: [save]}, runner: {artifactService}});
    const scope = {appName: 'app', userId: 'u', sessionId: 's'};
    await artifactService.saveArtifact({...scope, filename: 'report.txt', artifact: {text: 'by hand'}});
    const run = await say(it, 'save');
    const event = await rewind(it, run);
    expect(event.actions.artifactDelta).toEqual({'report.txt': 2, 'new.txt': 1});
    expect(await artifactService.loadArtifact({...scope, filename: 'report.txt'})).toEqual({text: 'by hand'});
    expect(await artifactService.loadArtifact({...scope, filename: 'report.txt', version: 1})).toEqual({text: run});
    expect(await artifactService.loadArtifact({...scope, filename: 'new.txt'})).toEqual({text: ''});
    expect(await artifactService.loadArtifact({...scope, filename: 'user:own.txt'})).toEqual({text: run});
  });

  test('brings back the version before a run that saved a file more than once', async () => {
    const artifactService = new InMemoryArtifactService();
    const save = new FunctionTool({
      name: 'save',
      description: 'Saves.',
      execute: async (_args, context) => {
        for (const text of ['draft', context.invocationId]) await context.saveArtifact('f', {text});
        return 'saved';
      },
    });
    const saves = functionCalls({name: 'save'}, {name: 'save'});
    const it = await stage({steps: [saves, 'ok', saves, 'ok'], agent: {tools: [save]}, runner: {artifactService}});
    const first = await say(it, 'first');
    await rewind(it, await say(it, 'second'));
    expect(await artifactService.loadArtifact({appName: 'app', userId: 'u', sessionId: 's', filename: 'f'})).toEqual({text: first});
  });

  test('takes back calls that wait, and an answer makes them wait again', async () => {
    const tool = new LongRunningFunctionTool({name: 'approve', description: 'Asks the boss.', execute: () => null});
    const it = await stage({steps: [functionCalls({name: 'approve'}), 'Approved.', 'Approved again.'], agent: {tools: [tool]}});
    const waiting = it.run('please');
    const {events} = await collect(waiting);
    const id = events[0]?.content?.parts?.[0]?.functionCall?.id ?? '';
    const answer = (): ReturnType<Stage['run']> =>
      it.run('', {newMessage: {role: 'user', parts: [{functionResponse: {id, name: 'approve', response: {ok: true}}}]}});
    const answered = answer();
    await collect(answered);
    await rewind(it, answered.invocationId);
    expect((await collect(answer())).events.map(line)).toEqual(['root: "Approved again."']);
    await rewind(it, waiting.invocationId);
    const {error} = await collect(answer());
    expect(error).toMatchObject({code: 'UNKNOWN_FUNCTION_CALL'});
  });

  test('waits for the run under way, and is stopped while it waits', async () => {
    const model = stalled();
    const it = await stage({steps: ['One.', model.step]});
    const first = await say(it, 'first');
    const running = it.run('second');
    const pending = running.next();
    await model.asked;
    const stop = new AbortController();
    const reason = new Error('enough');
    const request = {userId: 'u', sessionId: 's', rewindBeforeInvocationId: first};
    const stopped = it.runner.rewind({...request, abortSignal: stop.signal});
    const waiting = it.runner.rewind(request);
    stop.abort(reason);
    await expect(stopped).rejects.toBe(reason);
    expectNoListeners(stop.signal);
    await running.return();
    await pending;
    await waiting;
    expect((await it.stored()).map(line).at(-1)).toBe('user: ');
    await expect(it.runner.rewind({...request, abortSignal: AbortSignal.abort(reason)})).rejects.toBe(reason);
  });

  test('is refused while another run holds the session for longer than it may wait, and by a closed runner', async () => {
    const model = stalled();
    const it = await stage({steps: ['One.', model.step], runConfig: {sessionWaitMs: 0}});
    const first = await say(it, 'first');
    const running = it.run('second');
    const pending = running.next();
    await model.asked;
    await expect(rewind(it, first)).rejects.toBeInstanceOf(SessionBusyError);
    await running.return();
    await pending;
    await it.runner.close();
    await expect(rewind(it, first)).rejects.toBeInstanceOf(RunnerClosedError);
  });

  test('makes a run of another process stale', async () => {
    const it = await stage({steps: ['One.', 'Two.']});
    const service = it.runner.sessionService;
    const first = await say(it, 'first');
    const key = {appName: 'app', userId: 'u', sessionId: 's'};
    const session = await service.getSession(key);
    const epoch = await service.claimSession?.(key);
    await rewind(it, first);
    if (!session || epoch === undefined) throw new Error('no session');
    await expect(service.appendEvent({session, epoch, event: createEvent({author: 'root'})})).rejects.toMatchObject({
      code: 'SESSION_CONFLICT',
    });
  });
});
