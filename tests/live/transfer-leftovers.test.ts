// What goes on with the old agent when another one takes over.
import {describe, expect, test} from 'vitest';
import {FunctionTool, LongRunningFunctionTool, type LlmResponse} from 'sluice';
import {expectNoListeners} from '../stories/kit.ts';
import {answers, bye, expectValidLive, heldTool, liveLine, turn, whole, wire} from './kit.ts';
import {DoubleConnection, DoubleLlm} from './stop-double.ts';
import {agentOf, ANSWER, CALL, CALLED, connected, history, modelOf, TRANSFERRED, transferStage, transferTo} from './transfer-kit.ts';

const CUT_OFF = '{"error":"cancelled; it may have taken effect","started":true}';

/** A tool that yields once, and then takes its time. */
function ticker(): {readonly tool: FunctionTool; readonly reasons: unknown[]; readonly left: Promise<void>} {
  const reasons: unknown[] = [];
  const {promise: left, resolve} = Promise.withResolvers<void>();
  const tool = new FunctionTool({
    name: 'ticker',
    description: 'Ticks.',
    responseScheduling: 'WHEN_IDLE',
    async *execute(_args, {abortSignal}) {
      try {
        yield 'tick';
        await new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason as Error), {once: true}));
      } finally {
        reasons.push(abortSignal.reason);
        resolve();
      }
    },
  });
  return {tool, reasons, left};
}

describe('calls of the old agent that still run', () => {
  test('are stopped and answered in the session, each once; the new agent hears of them with what it is to answer', async () => {
    const [ticking, slow] = [ticker(), heldTool('slow', {responseScheduling: 'SILENT'})];
    await using it = await transferStage({root: {tools: [ticking.tool, slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'ticker'},
      {id: '2', name: 'slow'},
    ]);
    await session.message('toolResponse');
    const {abortSignal} = (await slow.call()).context;
    session.toolCall([transferTo('clerk')]);
    const second = await connected(it);
    await ticking.left;
    await second.message('clientContent', 1);
    second.say('Bye.');
    await reading.until('clerk: "Bye." [partial]');
    it.queue.close();
    second.completeTurn();
    const {outcome} = await reading.end;
    expect(reading.lines).toEqual([
      'root: ticker({}) slow({})',
      'root: ticker={"result":"tick"} [partial]',
      CALL,
      ANSWER,
      `root: ticker=${CUT_OFF}`,
      `root: slow=${CUT_OFF}`,
      'clerk: "Bye." [partial]',
      'clerk: "Bye." [turn complete]',
    ]);
    expect(await it.stored()).toEqual(['user: "hi"', ...whole(reading.lines)]);
    const reason = expect.objectContaining({name: 'AbortError', message: 'Another agent has taken over'}) as unknown;
    expect([...ticking.reasons, abortSignal.reason]).toEqual([reason, reason]);
    expect(wire(second)).toEqual([
      history(['user', 'hi'], ['user', '[root] called tool `ticker` with {}', '[root] called tool `slow` with {}'], ['user', CALLED]),
      {
        clientContent: {
          turns: [
            {
              role: 'user',
              parts: [TRANSFERRED, `[root] got from \`ticker\`: ${CUT_OFF}`, `[root] got from \`slow\`: ${CUT_OFF}`].map((text) => ({
                text,
              })),
            },
          ],
          turnComplete: true,
        },
      },
    ]);
    expect(outcome).toMatchObject({kind: 'done', abandoned: []});
    expectValidLive(await it.stage.stored());
  });

  test('whatever their signal says are left behind after the grace, and what they still bring goes nowhere', async () => {
    const {promise: letGo, resolve} = Promise.withResolvers<string>();
    const deaf = new FunctionTool({name: 'deaf', description: 'Ignores all.', responseScheduling: 'INTERRUPT', execute: () => letGo});
    await using it = await transferStage({root: {tools: [deaf]}, runConfig: {abortGraceMs: 5}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'deaf'}, transferTo('clerk')]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    resolve('too late');
    it.queue.close();
    second.say('Bye.');
    second.completeTurn();
    const {outcome} = await reading.end;
    expect(whole(reading.lines)).toEqual([
      'root: deaf({}) transfer_to_agent({"agentName":"clerk"})',
      ANSWER,
      `root: deaf=${CUT_OFF}`,
      'clerk: "Bye." [turn complete]',
    ]);
    expect(outcome).toMatchObject({kind: 'done', abandoned: ['deaf']});
    expect(it.stage.diagnostics.map(({code}) => code)).toEqual(['TOOL_ABANDONED']);
    expectValidLive(await it.stage.stored());
  });

  test('that wait for a later answer wait on, and the new agent hears of it', async () => {
    const order = new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => ({status: 'ordered'})});
    await using it = await transferStage({root: {tools: [order]}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: 'o', name: 'order'}, transferTo('clerk')]);
    const second = await connected(it);
    await second.message('clientContent', 1);
    await it.queue.sendContent({parts: [{functionResponse: {id: 'o', response: {status: 'sent'}}}]});
    await second.message('clientContent', 2);
    await reading.run.return();
    expect(wire(second).at(-1)).toEqual(turn('[root] got from `order`: {"status":"sent"}'));
    expect(whole(reading.lines)).toEqual([
      'root: order({}) transfer_to_agent({"agentName":"clerk"}) [waits 1]',
      'root: order={"status":"ordered"} transfer_to_agent={"status":"transferred"} [waits 1]',
    ]);
  });

  test('and whose answer the store does not take end the run with that error, before the new agent begins', async () => {
    const boom = new RangeError('boom');
    const slow = heldTool('slow', {responseScheduling: 'SILENT'});
    await using it = await transferStage({root: {tools: [slow.tool]}});
    const {sessionService} = it.stage.runner;
    const append = sessionService.appendEvent.bind(sessionService);
    sessionService.appendEvent = (request) => (liveLine(request.event).includes('slow=') ? Promise.reject(boom) : append(request));
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const {outcome} = await reading.end;
    expect(outcome).toMatchObject({kind: 'error', reason: boom});
    expect(whole(reading.lines)).toEqual([`${CALL} slow({})`, ANSWER]);
    expect(it.server.sessions).toHaveLength(1);
    expect(await session.closed).toMatchObject({early: true});
    expect(it.queue.closed).toBe(true);
  });
});

describe('a transfer that is not wanted any more', () => {
  test.each([
    ['the user interrupts', (): Record<string, unknown> => ({serverContent: {interrupted: true}})],
    ['the model takes it back', (): Record<string, unknown> => ({toolCallCancellation: {ids: ['t']}})],
  ])('because %s while its siblings run is not made', async (_why, message) => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const {end} = await slow.call();
    const taken = message();
    session.send(taken);
    const isInterrupted = 'serverContent' in taken;
    await reading.until(isInterrupted ? 'root: [interrupted]' : 'root: [partial, cancels t]');
    end('ready');
    const slowAnswer = isInterrupted ? CUT_OFF : '{"result":"ready"}';
    const answered = `root: transfer_to_agent={"error":"cancelled","started":false} slow=${slowAnswer}`;
    await reading.until(answered);
    if (!isInterrupted) await session.message('toolResponse');
    session.completeTurn();
    const {outcome} = await it.finish(session, reading);
    expect(wire(session).slice(1)).toEqual(isInterrupted ? [] : [answers({id: '1', name: 'slow', response: {result: 'ready'}})]);
    expect(reading.lines).toContain(answered);
    expect(reading.lines.slice(-2)).toEqual(bye);
    expect(it.server.sessions.map(modelOf)).toEqual(['models/live-root']);
    expect(outcome.kind).toBe('done');
    expectValidLive(await it.stage.stored());
  });

  test('because another call of the message hands over to another agent gives way to the later one', async () => {
    await using it = await transferStage({subAgents: [agentOf('clerk'), agentOf('cook')]});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk', '1'), transferTo('cook', '2')]);
    const second = await connected(it);
    await reading.run.return();
    expect([session, second].map(modelOf)).toEqual(['models/live-root', 'models/live-cook']);
  });
});

describe('what the old model says', () => {
  test('before the connection is closed is kept, as cut off; what comes after is dropped', async () => {
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [slow.tool]}, server: {strict: false}});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const {end} = await slow.call();
    session.say('One mom');
    await reading.until('root: "One mom" [partial]');
    end('ready');
    await session.closed;
    session.say('ent');
    const second = await connected(it);
    await second.message('clientContent', 1);
    it.queue.close();
    second.say('Bye.');
    second.completeTurn();
    await reading.end;
    const stored = [
      'root: transfer_to_agent({"agentName":"clerk"}) slow({})',
      'root: transfer_to_agent={"status":"transferred"} slow={"result":"ready"}',
      'root: "One mom" [interrupted]',
      'clerk: "Bye." [turn complete]',
    ];
    expect(whole(reading.lines)).toEqual(stored);
    expect((await it.stored()).slice(1)).toEqual(stored);
  });

  test('over a connection that does not heed its closing goes nowhere, and that is left behind after the grace', async () => {
    const stubborn = new StubbornConnection(() => {});
    const model = new DoubleLlm(
      [
        async (connection) => {
          await connection.heard('turn hi');
          connection.says({content: {role: 'model', parts: [{functionCall: transferTo('clerk')}]}});
        },
      ],
      () => {},
      () => stubborn,
    );
    await using it = await transferStage({root: {model}, runConfig: {abortGraceMs: 5}});
    const reading = it.read();
    void it.say('hi');
    const second = await connected(it);
    await second.message('clientContent', 1);
    stubborn.says(
      say('late'),
      {content: {role: 'model', parts: [{functionCall: {id: 'x', name: 'transfer_to_agent'}}]}},
      {turnComplete: true},
    );
    it.queue.close();
    second.say('Bye.');
    second.completeTurn();
    const {outcome} = await reading.end;
    expect(reading.lines).toEqual([CALL, ANSWER, 'clerk: "Bye." [partial]', 'clerk: "Bye." [turn complete]']);
    expect(outcome).toMatchObject({kind: 'done', abandoned: ['model double']});
    expectValidLive(await it.stage.stored());
  });

  test('and hooks still look at when another takes over is stored with it, and its calls do not run', async () => {
    const [looks, looked] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let ran = false;
    const late = new FunctionTool({name: 'late', description: 'Is late.', execute: () => void (ran = true)});
    const afterModelCallback = async ({response}: {response: LlmResponse}): Promise<undefined> => {
      if (!response.content?.parts?.some(({functionCall}) => functionCall?.name === 'late')) return;
      looks.resolve();
      await looked.promise;
    };
    const slow = heldTool('slow');
    await using it = await transferStage({root: {tools: [late, slow.tool], afterModelCallback}});
    const {session, reading} = await it.talk();
    session.toolCall([transferTo('clerk'), {id: '1', name: 'slow'}]);
    const {end} = await slow.call();
    session.toolCall([{id: '2', name: 'late'}]);
    await looks.promise;
    end('ready');
    await session.closed;
    looked.resolve();
    const second = await connected(it);
    await reading.run.return();
    expect(ran).toBe(false);
    expect(modelOf(second)).toBe('models/live-clerk');
    expect((await it.stored()).slice(1)).toEqual([
      'root: transfer_to_agent({"agentName":"clerk"}) slow({})',
      'root: transfer_to_agent={"status":"transferred"} slow={"result":"ready"}',
      'root: late({})',
      'root: late={"error":"cancelled","started":false}',
    ]);
    expectValidLive(await it.stage.stored());
  });

  test('and was not read yet is still read, and only then the other agent begins', async () => {
    await using it = await transferStage();
    const stop = new AbortController();
    const run = it.run({abortSignal: stop.signal});
    const first = run.next();
    void it.say('hi');
    const session = await it.server.nextSession();
    await session.message('clientContent');
    session.say('Wait. ');
    session.toolCall([transferTo('clerk')]);
    await session.closed;
    expect(await it.stored()).toEqual(['user: "hi"', `root: "Wait. " ${CALL.slice(6)}`, ANSWER]);
    const events = [(await first).value, (await run.next()).value, (await run.next()).value];
    expect(events.map((event) => event && liveLine(event))).toEqual([
      'root: "Wait. " [partial]',
      `root: "Wait. " ${CALL.slice(6)}`,
      ANSWER,
    ]);
    expect(it.server.sessions).toHaveLength(1);
    const next = run.next();
    await connected(it);
    await run.return();
    expect(await next).toEqual({done: true, value: undefined});
    expectNoListeners(stop.signal);
  });
});

/** Goes on after it was closed. */
class StubbornConnection extends DoubleConnection {
  override async close(): Promise<void> {}
}

function say(text: string): LlmResponse {
  return {content: {role: 'model', parts: [{text}]}, partial: true};
}
