import {expect, test, vi} from 'vitest';
import {
  BaseAgent,
  createEvent,
  FunctionTool,
  HookError,
  InvalidOptionError,
  LlmCallsLimitExceededError,
  ModelError,
  RunCancelledError,
  RunnerClosedError,
  RunTimeoutError,
  StreamingMode,
  type Event,
  type InvocationContext,
} from 'sluice';
import {collect, deltas, functionCalls, hang, text} from 'sluice/testing';
import {expectNoListeners, expectValid, idle, line, stage} from './kit.ts';

const nothing = new FunctionTool({name: 'nothing', description: 'Does nothing.', execute: () => ({ok: true})});

test('a run that finishes is done, and settled says so with usage and calls', async () => {
  const usage = {promptTokenCount: 2, totalTokenCount: 5};
  const it = await stage({
    steps: [
      {...functionCalls({name: 'nothing'}), usageMetadata: usage},
      {...text('done'), usageMetadata: usage},
    ],
    agent: {tools: [nothing]},
  });
  const {events, outcome, ...rest} = await collect(it.run());
  expect(rest).toEqual({});
  expect(outcome).toEqual({
    kind: 'done',
    usage: {promptTokenCount: 4, totalTokenCount: 10},
    llmCalls: 2,
    abandoned: [],
    lastEventId: events.at(-1)?.id,
  });
});

test.each([
  ['an error', new Error('mine')],
  ['a string', 'stop'],
  ['an object', {why: 'because'}],
  ['a timeout', new DOMException('late', 'TimeoutError')],
])('next() rejects with the reason itself when the signal fires with %s', async (_, reason) => {
  const stop = new AbortController();
  const it = await stage({steps: [hang()]});
  const run = it.run('go', {abortSignal: stop.signal});
  const next = run.next().catch((error: unknown) => ({caught: error}));
  await idle();
  stop.abort(reason);
  expect(await next).toEqual({caught: reason});
  expect(((await next) as {caught: unknown}).caught).toBe(reason);
  expect(await run.settled).toMatchObject({kind: 'abort', reason});
  expect(await run.next()).toEqual({done: true, value: undefined});
  expectNoListeners(stop.signal);
});

test('a signal that is aborted already starts nothing at all', async () => {
  const it = await stage({steps: ['never']});
  const reason = new Error('early');
  const run = it.run('go', {abortSignal: AbortSignal.abort(reason)});
  await expect(run.next()).rejects.toBe(reason);
  expect(it.model.calls).toBe(0);
  expect(await it.stored()).toEqual([]);
  expect(await run.settled).toEqual({kind: 'abort', reason, usage: undefined, llmCalls: 0, abandoned: [], lastEventId: undefined});
});

test('break ends the run without a throw', async () => {
  const it = await stage({steps: [deltas('a', 'b')], runConfig: {streamingMode: StreamingMode.SSE}});
  const run = it.run();
  for await (const event of run) {
    expect(line(event)).toBe('root: "a" [partial]');
    break;
  }
  expect(await run.settled).toMatchObject({kind: 'return'});
  expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "a" [stopped]']);
});

test('return() settles while a next() is pending, and that next() is done', async () => {
  const it = await stage({steps: [hang()]});
  const run = it.run();
  const next = run.next();
  await idle();
  expect(await run.return()).toEqual({done: true, value: undefined});
  expect(await next).toEqual({done: true, value: undefined});
  expect(it.model.signals[0]?.aborted).toBe(true);
});

test('await using ends the run while a next() is pending', async () => {
  const it = await stage({steps: [hang()]});
  let next: Promise<unknown> | undefined;
  {
    await using run = it.run();
    next = run.next();
    await idle();
  }
  expect(await next).toEqual({done: true, value: undefined});
});

test('throw() is an abort with what it is given', async () => {
  const it = await stage({steps: [hang()]});
  const run = it.run();
  const next = run.next().catch((error: unknown) => error);
  await idle();
  const reason = new Error('thrown in');
  await expect(run.throw(reason)).rejects.toBe(reason);
  expect(await next).toBe(reason);
  expect(await run.settled).toMatchObject({kind: 'abort', reason});
});

test('a run that was never started settles when it is left', async () => {
  const it = await stage({steps: ['never']});
  const run = it.run();
  let settled = false;
  void run.settled.then(() => (settled = true));
  await idle();
  expect(settled).toBe(false);
  await run.return();
  expect(await run.settled).toMatchObject({kind: 'return', llmCalls: 0});
  expect(await run.next()).toEqual({done: true, value: undefined});
  expect(await it.stored()).toEqual([]);
});

test('cancel() stops the runs of a session, or one run, and says how many once they have ended', async () => {
  const it = await stage({steps: [hang(), hang()]});
  const first = it.run();
  const pending = first.next().catch((error: unknown) => error);
  await idle();
  expect(await it.runner.cancel({userId: 'u', sessionId: 'other'})).toBe(0);
  expect(await it.runner.cancel({userId: 'u', sessionId: 's'})).toBe(1);
  expect(await pending).toBeInstanceOf(RunCancelledError);
  expect(await first.settled).toMatchObject({kind: 'abort'});

  const second = it.run();
  const rejected = second.next().catch((error: unknown) => error);
  await idle();
  expect(await it.runner.cancel({invocationId: second.invocationId}, 'enough')).toBe(1);
  expect(await rejected).toBe('enough');
});

test('close() stops what is left at its deadline, and starts nothing any more', async () => {
  const it = await stage({steps: [hang()]});
  const run = it.run();
  const pending = run.next().catch((error: unknown) => error);
  await idle();
  await it.runner.close({timeoutMs: 0});
  expect(await pending).toBeInstanceOf(RunnerClosedError);
  expect(await run.settled).toMatchObject({kind: 'abort'});
  await expect(it.run().next()).rejects.toBeInstanceOf(RunnerClosedError);
});

test('close() waits for runs that finish in time', async () => {
  const it = await stage({steps: ['done']});
  const reading = collect(it.run());
  await it.runner.close();
  expect((await reading).events.map(line)).toEqual(['root: "done"']);
});

test('close() waits for a run that waits for its session too, and every call of it shares one closing', async () => {
  const it = await stage({steps: ['first', 'second']});
  const [first, second] = [collect(it.run()), collect(it.run())];
  const closing = [it.runner.close({timeoutMs: Infinity}), it.runner.close({timeoutMs: 0})];
  expect((await first).events.map(line)).toEqual(['root: "first"']);
  expect((await second).events.map(line)).toEqual(['root: "second"']);
  await Promise.all(closing);
});

test.each(['soon', -1, Number.NaN, null])('close() refuses %j as its deadline, and closes nothing', async (timeoutMs) => {
  const it = await stage({steps: ['done']});
  await expect(it.runner.close({timeoutMs: timeoutMs as never})).rejects.toMatchObject({code: 'INVALID_OPTION', option: 'close.timeoutMs'});
  expect((await collect(it.run())).events.map(line)).toEqual(['root: "done"']);
});

test.each([null, 5, {timeout: 5}])('close() refuses the options %j, and closes nothing', async (options) => {
  const it = await stage({steps: ['done']});
  await expect(it.runner.close(options as never)).rejects.toMatchObject({code: 'INVALID_OPTION'});
  expect((await collect(it.run())).events.map(line)).toEqual(['root: "done"']);
});

test('the run deadline ends the run, also with no next() pending', async () => {
  vi.useFakeTimers();
  try {
    const it = await stage({steps: [deltas('a', 'b')], runConfig: {timeoutMs: 1_000, streamingMode: StreamingMode.SSE}});
    const run = it.run();
    await run.next();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await run.settled).toMatchObject({kind: 'timeout', reason: expect.any(RunTimeoutError)});
    expect((await it.stored()).map(line)).toEqual(['user: "go"', 'root: "a" [stopped]']);
    await expect(run.next()).rejects.toBeInstanceOf(RunTimeoutError);
    expect(vi.getTimerCount()).toBe(0);
  } finally {
    vi.useRealTimers();
  }
});

test('a run stops at maxLlmCalls', async () => {
  const it = await stage({
    steps: Array.from({length: 5}, () => functionCalls({name: 'nothing'})),
    agent: {tools: [nothing]},
    runConfig: {maxLlmCalls: 2},
  });
  const {events, error, outcome} = await collect(it.run());
  expect(error).toBeInstanceOf(LlmCallsLimitExceededError);
  expect(outcome).toMatchObject({kind: 'limit', llmCalls: 2});
  expect(events).toHaveLength(4);
  expectValid(await it.stored());
});

test.each([0, -1, Infinity])('maxLlmCalls %s means no limit', async (maxLlmCalls) => {
  const it = await stage({
    steps: [...Array.from({length: 60}, () => functionCalls({name: 'nothing'})), 'done'],
    agent: {tools: [nothing]},
    runConfig: {maxLlmCalls},
  });
  expect((await collect(it.run())).outcome).toMatchObject({kind: 'done', llmCalls: 61});
});

test('a failing model ends the run with a ModelError that keeps the cause', async () => {
  const cause = new TypeError('no such host');
  const it = await stage({steps: [cause]});
  const {error, outcome} = await collect(it.run());
  expect(error).toBeInstanceOf(ModelError);
  expect(error).toMatchObject({code: 'MODEL_FAILED', message: 'no such host', cause});
  expect(outcome).toMatchObject({kind: 'error', reason: error});
});

test('a model that ends without a whole response is a ModelError', async () => {
  const it = await stage({steps: [[]]});
  expect((await collect(it.run())).error).toMatchObject({name: 'ModelError', code: 'NO_RESPONSE'});
});

test('a hook that throws ends the run with a HookError, named', async () => {
  const cause = new Error('hook');
  const it = await stage({
    steps: ['never'],
    agent: {
      beforeModelCallback: () => {
        throw cause;
      },
    },
  });
  const {error} = await collect(it.run());
  expect(error).toBeInstanceOf(HookError);
  expect(error).toMatchObject({code: 'HOOK_FAILED', hook: 'beforeModelCallback', cause});
});

test("an error of a user's agent ends the run as it is", async () => {
  const mine = new RangeError('mine');
  class Broken extends BaseAgent {
    protected async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
      yield createEvent({author: this.name, invocationId: context.invocationId});
      throw mine;
    }
  }
  const it = await stage({runner: {agent: new Broken({name: 'broken'})}});
  expect((await collect(it.run())).error).toBe(mine);
});

test('concurrent next() calls queue; at a failing end the first rejects and the others are done', async () => {
  const it = await stage({steps: [functionCalls({name: 'nothing'}), new Error('down')], agent: {tools: [nothing]}});
  const run = it.run();
  const results = await Promise.allSettled([run.next(), run.next(), run.next(), run.next()]);
  expect(results.map(({status}) => status)).toEqual(['fulfilled', 'fulfilled', 'rejected', 'fulfilled']);
  expect(results[3]).toMatchObject({value: {done: true}});
});

test.each([
  ['SAFETY', {finishReason: 'SAFETY'}],
  ['MAX_TOKENS', {...text('cut'), finishReason: 'MAX_TOKENS'}],
  ['NEW_REASON', {...text('odd'), finishReason: 'NEW_REASON'}],
])('a reply that ends with %s is an event with errorCode, and the run is done', async (errorCode, reply) => {
  const it = await stage({steps: [reply]});
  const {events, outcome} = await collect(it.run());
  expect(events).toHaveLength(1);
  expect(events[0]).toMatchObject({errorCode, errorMessage: expect.any(String)});
  expect(outcome).toMatchObject({kind: 'done', errorCode});
});

test('calls of a cut reply never run; they are answered so that the session stays valid', async () => {
  const ran: string[] = [];
  const tool = new FunctionTool({name: 'pay', description: 'Pays.', execute: () => void ran.push('pay')});
  const it = await stage({steps: [{...functionCalls({name: 'pay'}), finishReason: 'MAX_TOKENS'}, 'ok'], agent: {tools: [tool]}});
  const {events, outcome} = await collect(it.run());
  expect(ran).toEqual([]);
  expect(events.map(line)).toEqual(['root: pay({}) [error:MAX_TOKENS]', 'root: pay={"error":"not run: the reply ended with MAX_TOKENS"}']);
  expect(outcome).toMatchObject({kind: 'done', errorCode: 'MAX_TOKENS'});
  expectValid(await it.stored());
});

test.each([
  ['a malformed call', {finishReason: 'MALFORMED_FUNCTION_CALL'}, 'MALFORMED_FUNCTION_CALL'],
  ['an empty reply', {finishReason: 'STOP'}, 'MODEL_RETURNED_NO_CONTENT'],
  ['an empty text', text(''), 'MODEL_RETURNED_NO_CONTENT'],
])('%s is asked again at most twice, and only the last attempt is stored', async (_, reply, errorCode) => {
  const again = await stage({steps: [reply, reply, 'well']});
  const {events, outcome} = await collect(again.run());
  expect(events.map(line)).toEqual(['root: "well"']);
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 3});
  expect((await again.stored()).map(line)).toEqual(['user: "go"', 'root: "well"']);

  const never = await stage({steps: [reply, reply, reply, 'unused']});
  const failed = await collect(never.run());
  expect(failed.events).toHaveLength(1);
  expect(failed.outcome).toMatchObject({kind: 'done', errorCode, llmCalls: 3});
  expect(never.model.unusedSteps).toHaveLength(1);
});

test.each([
  ['an unknown option', {surprise: 1}, /surprise/],
  ['a message without parts', {newMessage: {role: 'user', parts: []}}, /newMessage\.parts/],
  ['a message of the model', {newMessage: {role: 'model', parts: [{text: 'x'}]}}, /newMessage\.role/],
  ['an empty user id', {userId: ''}, /userId/],
  ['an unknown run option', {runConfig: {maxLLMCalls: 3}}, /runConfig\.maxLLMCalls/],
  ['a wrong run option', {runConfig: {maxConcurrentTools: 0}}, /runConfig\.maxConcurrentTools/],
  ['a signal that is none', {abortSignal: {}}, /abortSignal/],
  ['the live mode', {runConfig: {streamingMode: StreamingMode.BIDI}}, /streamingMode/],
])('%s is refused at the first next(), with nothing stored', async (_, options, message) => {
  const it = await stage({steps: ['never']});
  const run = it.run('go', options as object);
  const error = await run.next().catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect((error as Error).message).toMatch(message);
  expect(await run.settled).toMatchObject({kind: 'error', reason: error});
  expect(await it.stored()).toEqual([]);
});

test('a missing session is refused at the first next(), unless it is to be created', async () => {
  const it = await stage({steps: ['made']});
  await expect(it.run('go', {sessionId: 'none'}).next()).rejects.toMatchObject({code: 'SESSION_NOT_FOUND', sessionId: 'none'});
  const auto = await stage({steps: ['made'], runner: {autoCreateSession: true}});
  expect((await collect(auto.run('go', {sessionId: 'none'}))).events.map(line)).toEqual(['root: "made"']);
});
