/** Moments around the calls of tools: before they run, when they are broken off, and while their answers are on the way. */
import {LongRunningFunctionTool} from 'sluice';
import type {LiveServerSession} from 'sluice/testing';
import {fetching, quick} from '../wire/stop-scene.ts';
import {
  AFTER,
  arrived,
  asked,
  CALLED,
  calling,
  entered,
  GO,
  heard,
  MUCH,
  NOT_STARTED,
  passGrace,
  READY,
  STARTED,
  turns,
  type Moment,
} from './stop-moments.ts';
import type {Scene} from './stop-scene.ts';

/** A tool that needs a while to end after its signal has fired. */
const winding = (scene: Scene): ReturnType<Scene['tool']> =>
  scene.tool('winding', async (_args, {abortSignal}) => {
    scene.sends.push(scene.queue.sendRealtime({text: 'no'}));
    await new Promise((resolve) => abortSignal.addEventListener('abort', resolve, {once: true}));
    await scene.deaf('winding down');
    throw abortSignal.reason;
  });

export const answerMoments: readonly Moment[] = [
  {
    ...CALLED,
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
    ...CALLED,
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
    ...CALLED,
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
    ...CALLED,
    name: 'while the store writes the answer',
    sessions: [calling('quick')],
    tools: () => [quick],
    slowAppend: 3,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: (scene) => scene.store.open(),
    stored: [GO, 'root: quick({})', `root: quick=${READY}`],
  },
  {
    ...CALLED,
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
    ...CALLED,
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
    ...CALLED,
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
    ...CALLED,
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
    ...CALLED,
    name: 'while the hook before a tool is asked',
    sessions: [calling('quick')],
    tools: () => [quick],
    agent: (scene) => ({beforeToolCallback: ({context}) => scene.heeding('before tool', context).then(() => undefined)}),
    reached: entered('before tool'),
    entered: ['before tool', AFTER],
    stored: [GO, 'root: quick({})', `root: quick=${NOT_STARTED}`],
  },
  {
    ...CALLED,
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
    ...CALLED,
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
