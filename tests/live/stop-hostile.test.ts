// Connections of the user's own that do not do what they should when a live run is stopped.
import {getEventListeners} from 'node:events';
import {describe, expect, test} from 'vitest';
import {InMemorySessionService, LiveRequestQueue, LlmAgent, Runner, type Diagnostic, type LlmResponse, type RunOutcome} from 'sluice';
import {OurClock} from '../wire/our-clock.ts';
import {expectValidLive, liveLine} from './kit.ts';
import {DoubleConnection, DoubleLlm} from './stop-double.ts';
import {turns, until} from './stop-moments.ts';
import {failOnUnhandled} from './stop-unhandled.ts';

const never = new Promise<never>(() => {});

class NeverClosed extends DoubleConnection {
  override async close(): Promise<void> {
    await super.close();
    await never;
  }
}

class FailingToClose extends DoubleConnection {
  override close(): Promise<void> {
    void super.close();
    throw new RangeError('close failed');
  }
}

class RejectingToClose extends DoubleConnection {
  override async close(): Promise<void> {
    await super.close();
    throw new RangeError('close failed');
  }
}

class NeverOver extends DoubleConnection {
  override async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
    yield* super.receive();
    await never;
  }
}

class NeverSent extends DoubleConnection {
  override async sendContent(content: Parameters<DoubleConnection['sendContent']>[0]): Promise<void> {
    await super.sendContent(content);
    await never;
  }
}

class TalkingOn extends DoubleConnection {
  override async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
    yield* super.receive();
    for (;;) {
      await new Promise((resolve) => setImmediate(resolve));
      yield {content: {role: 'model', parts: [{text: 'and on'}]}, partial: true};
    }
  }
}

interface Stopped {
  readonly outcome: RunOutcome;
  readonly diagnostics: readonly string[];
  readonly model: DoubleLlm;
  readonly stored: readonly string[];
}

/** Stops a run in mid turn whose connections are of this kind, and lets so many milliseconds pass. */
async function stop(make: ConstructorParameters<typeof DoubleLlm>[2], graceMs: number): Promise<Stopped> {
  using clock = new OurClock();
  const store = new InMemorySessionService();
  await store.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  const did: string[] = [];
  const script = async (connection: DoubleConnection): Promise<void> => {
    await connection.heard('turn go');
    connection.says({content: {role: 'model', parts: [{text: 'one'}]}, partial: true});
  };
  const model = new DoubleLlm([script], (what) => did.push(what), make);
  const diagnostics: Diagnostic[] = [];
  const runner = new Runner({
    appName: 'app',
    agent: new LlmAgent({name: 'root', model}),
    sessionService: store,
    onDiagnostic: (it) => diagnostics.push(it),
  });
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendContent({parts: [{text: 'go'}]});
  const controller = new AbortController();
  const run = runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, abortSignal: controller.signal});
  const reading = (async () => {
    for await (const _ of run);
  })();
  const end = reading.catch((error: unknown) => error);
  await until(() => did.includes('connect'));
  await turns();
  const before = [...did];
  controller.abort('stopped');
  await clock.pass(graceMs);
  expect(await end).toBe('stopped');
  const outcome = await run.settled;
  await turns();
  expect(did).toEqual(before);
  expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  expect(clock.pending).toBe(0);
  expect(liveRequestQueue.closed).toBe(true);
  const stored = (await store.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? [];
  expectValidLive(stored);
  return {outcome, diagnostics: diagnostics.map(({code, name}) => `${code} ${name}`), model, stored: stored.map(liveLine)};
}

const ABANDONED = ['WORK_ABANDONED model double'];
const STORED = ['user: "go"', 'root: "one" [stopped]'];

describe('a live run is over though its connection', () => {
  failOnUnhandled();

  test.each([
    ['never says that it is closed', NeverClosed, ABANDONED],
    ['throws when it is closed', FailingToClose, []],
    ['rejects when it is closed', RejectingToClose, []],
    ['never ends', NeverOver, ABANDONED],
    ['never says that something was sent', NeverSent, ABANDONED],
    ['talks on', TalkingOn, []],
  ])('%s', async (_name, Connection, told) => {
    const {outcome, diagnostics, model, stored} = await stop((note) => new Connection(note), told.length > 0 ? 300 : 0);
    expect(outcome).toMatchObject({kind: 'abort', reason: 'stopped', abandoned: told.map(() => 'model double')});
    expect(diagnostics).toEqual(told);
    expect(stored).toEqual(STORED);
    expect(model.connections.map(({isClosed}) => isClosed)).toEqual([true]);
  });

  test('never comes about', async () => {
    const {outcome, diagnostics, stored} = await stop(() => never, 300);
    expect(outcome).toMatchObject({kind: 'abort', abandoned: ['model double']});
    expect(diagnostics).toEqual(ABANDONED);
    expect(stored).toEqual(['user: "go"']);
  });

  test('comes about too late, and is closed then', async () => {
    const late = Promise.withResolvers<DoubleConnection>();
    const {outcome, model} = await stop((note) => {
      void late.promise.then(() => note);
      return late.promise;
    }, 300);
    expect(outcome).toMatchObject({kind: 'abort', abandoned: ['model double']});
    late.resolve(new DoubleConnection(() => {}));
    await turns();
    expect(model.connections.map(({isClosed}) => isClosed)).toEqual([true]);
  });
});
