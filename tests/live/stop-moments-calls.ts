/** Moments at which the model has called tools. */
import {LongRunningFunctionTool} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {fetching, quick, showing} from '../wire/stop-scene.ts';
import {AFTER, arrived, GO, heard, MUCH, NOT_STARTED, ONE, passGrace, STARTED, turns, until, type Moment} from './stop-moments.ts';
import type {Scene} from './stop-scene.ts';

const READY = '{"result":"ready"}';

/** A connection over which the model calls tools, by name. */
const calling = (...names: readonly string[]): ReturnType<typeof heard> =>
  heard((session) => void session.toolCall(names.map((name) => ({name, id: name}))));

const asked =
  (count: number) =>
  async (scene: Scene): Promise<void> => {
    for (let n = 0; n < count; n++) await scene.service.nextRequest();
    await turns();
  };
const entered =
  (what: string) =>
  (scene: Scene): Promise<void> =>
    until(() => scene.entered.includes(what)).then(() => turns());

/** A tool that needs a while to end after its signal has fired. */
const winding = (scene: Scene): ReturnType<Scene['tool']> =>
  scene.tool('winding', async (_args, {abortSignal}) => {
    scene.sends.push(scene.queue.sendRealtime({text: 'no'}));
    await new Promise((resolve) => abortSignal.addEventListener('abort', resolve, {once: true}));
    await scene.deaf('winding down');
    throw abortSignal.reason;
  });

const BLOCKED = {reads: 1, pending: true, connections: ['setup clientContent left'], llmCalls: 1} as const;

export const callMoments: readonly Moment[] = [
  {
    ...BLOCKED,
    name: 'while tools run',
    sessions: [calling('a', 'b')],
    tools: ({service}) => [fetching(service, 'a'), fetching(service, 'b')],
    reached: asked(2),
    service: [true, true],
    stored: [GO, 'root: a({}) b({})', `root: a=${STARTED} b=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while tools run, between two next() calls',
    sessions: [calling('a', 'quick')],
    tools: ({service}) => [fetching(service, 'a'), quick],
    pending: false,
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({}) quick({})', `root: a=${STARTED} quick=${READY}`],
  },
  {
    ...BLOCKED,
    name: 'while tools queue',
    sessions: [calling('a', 'b', 'c')],
    tools: ({service}) => ['a', 'b', 'c'].map((name) => fetching(service, name)),
    runConfig: {maxConcurrentTools: 1},
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({}) b({}) c({})', `root: a=${STARTED} b=${NOT_STARTED} c=${NOT_STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool runs that has shown its progress',
    sessions: [calling('a')],
    tools: ({service}) => [showing(service, 'a')],
    reads: 2,
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({})', `root: a=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool runs that does not heed its signal',
    sessions: [calling('a', 'deaf')],
    tools: (scene) => [fetching(scene.service, 'a'), scene.tool('deaf', () => scene.letGo.promise)],
    reached: asked(1),
    after: passGrace,
    service: [true],
    entered: ['tool deaf', AFTER],
    abandoned: ['deaf'],
    stored: [GO, 'root: a({}) deaf({})', `root: a=${STARTED} deaf=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool runs that brings its result after the stop',
    sessions: [calling('late')],
    tools: (scene) => [scene.tool('late', () => scene.letGo.promise.then(() => 'ready'))],
    reached: entered('tool late'),
    after: ({letGo}) => letGo.resolve(),
    entered: ['tool late', AFTER],
    stored: [GO, 'root: late({})', `root: late=${READY}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool runs that the model does not wait for',
    sessions: [
      heard(
        (session) => void session.toolCall([{name: 'ticker', id: 'ticker'}]),
        'toolResponse',
        'toolResponse',
        (session) => session.say('one'),
      ),
    ],
    tools: (scene) => [
      scene.tool(
        'ticker',
        async function* (_args, context) {
          yield 1;
          yield 2;
          await scene.heeding('ticking', context);
        },
        {responseScheduling: 'WHEN_IDLE'},
      ),
    ],
    reads: 4,
    connections: ['setup clientContent toolResponse toolResponse left'],
    llmCalls: 2,
    entered: ['tool ticker', 'ticking', AFTER],
    stored: [GO, 'root: ticker({})', ONE, `root: ticker=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool shows its progress to a model that does not read it',
    sessions: [
      heard((session) => {
        session.toolCall([{name: 'ticker', id: 'ticker'}]);
        session.pauseReading();
      }),
    ],
    tools: (scene) => [
      scene.tool(
        'ticker',
        async function* () {
          for (;;) yield MUCH;
        },
        {responseScheduling: 'SILENT'},
      ),
    ],
    isReachable: false,
    reads: 2,
    reached: () => turns(),
    after: (scene) => scene.session().resumeReading(),
    entered: ['tool ticker', AFTER],
    stored: [GO, 'root: ticker({})', `root: ticker=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while the server does not read an answer',
    sessions: [
      heard((session) => {
        session.toolCall([{name: 'much', id: 'much'}]);
        session.pauseReading();
      }),
    ],
    tools: (scene) => [scene.tool('much', () => MUCH)],
    isReachable: false,
    reads: 2,
    reached: () => turns(),
    after: (scene) => scene.session().resumeReading(),
    entered: ['tool much', AFTER],
    stored: [GO, 'root: much({})', `root: much=${JSON.stringify({result: MUCH})}`],
  },
  {
    ...BLOCKED,
    name: 'while the store writes the calls',
    sessions: [calling('a')],
    tools: ({service}) => [fetching(service, 'a')],
    slowAppend: 2,
    reads: 0,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: (scene) => scene.store.open(),
    stored: [GO, 'root: a({})', `root: a=${NOT_STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while the store writes the answer',
    sessions: [calling('quick')],
    tools: () => [quick],
    slowAppend: 3,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: (scene) => scene.store.open(),
    stored: [GO, 'root: quick({})', `root: quick=${READY}`],
  },
  {
    ...BLOCKED,
    name: 'while an interrupted tool ends',
    // The clock would go on beyond the time that the tool has.
    except: ['close() at its deadline', 'the deadline of the run'],
    sessions: [interrupted((session) => session.interrupt())],
    tools: (scene) => [winding(scene)],
    reads: 2,
    reached: entered('winding down'),
    after: ({letGo}) => letGo.resolve(),
    connections: ['setup clientContent realtimeInput left'],
    entered: ['tool winding', 'winding down', AFTER],
    stored: [GO, 'root: winding({})', 'user: "no"', 'root: [interrupted]', `root: winding=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a tool ends whose call the model has taken back',
    // The clock would go on beyond the time that the tool has.
    except: ['close() at its deadline', 'the deadline of the run'],
    sessions: [interrupted((session) => session.cancelToolCalls(['winding']))],
    tools: (scene) => [winding(scene)],
    reads: 2,
    reached: entered('winding down'),
    after: ({letGo}) => letGo.resolve(),
    connections: ['setup clientContent realtimeInput left'],
    entered: ['tool winding', 'winding down', AFTER],
    stored: [GO, 'root: winding({})', 'user: "no"', `root: winding=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while what the user says is held back until a tool ends',
    sessions: [calling('a')],
    tools: ({service}) => [fetching(service, 'a')],
    reached: async (scene) => {
      await asked(1)(scene);
      scene.say('and more');
      scene.say('and more');
      await turns();
    },
    service: [true],
    stored: [GO, 'root: a({})', `root: a=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while the connection is lost and a tool runs',
    sessions: [
      heard(
        (session) => void session.toolCall([{name: 'a', id: 'a'}]),
        (session) => session.drop(),
      ),
      ['setup'],
    ],
    tools: ({service}) => [fetching(service, 'a')],
    reached: async (scene) => {
      await asked(1)(scene);
      await scene.clock.pass(0);
      await arrived(scene, 1, 1);
    },
    connections: ['setup clientContent', 'setup left'],
    service: [true],
    stored: [GO, 'root: a({})', `root: a=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while the hook before a tool is asked',
    sessions: [calling('quick')],
    tools: () => [quick],
    agent: (scene) => ({beforeToolCallback: ({context}) => scene.heeding('before tool', context).then(() => undefined)}),
    reached: entered('before tool'),
    entered: ['before tool', AFTER],
    stored: [GO, 'root: quick({})', `root: quick=${NOT_STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while the hook after a tool is asked, which heeds nothing',
    sessions: [calling('quick')],
    tools: () => [quick],
    agent: (scene) => ({afterToolCallback: () => scene.deaf('after tool').then(() => undefined)}),
    reached: entered('after tool'),
    after: passGrace,
    entered: ['after tool', AFTER],
    abandoned: ['afterToolCallback of root'],
    stored: [GO, 'root: quick({})', `root: quick=${STARTED}`],
  },
  {
    ...BLOCKED,
    name: 'while a call waits for its answer from the user',
    sessions: [calling('ticket')],
    tools: () => [new LongRunningFunctionTool({name: 'ticket', description: 'Opens a ticket.', execute: () => ({status: 'opened'})})],
    reads: 2,
    reached: (scene) => arrived(scene, 3),
    connections: ['setup clientContent toolResponse left'],
    stored: [GO, 'root: ticket({}) [waits 1]', 'root: ticket={"status":"opened"} [waits 1]'],
  },
];

/** A call, and something of the user's over which the model lets go of it. */
function interrupted(end: (session: LiveServerSession) => void): ReturnType<typeof heard> {
  return heard((session) => void session.toolCall([{name: 'winding', id: 'winding'}]), 'realtimeInput', end);
}
