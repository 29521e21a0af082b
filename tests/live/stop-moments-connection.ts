/** Moments on the way to a connection, and between two of them. */
import {expect} from 'vitest';
import {createEvent} from 'sluice';
import {fullBacklog} from './stop-backlog.ts';
import {arrived, GO, heard, MUCH, turns, until, type Moment} from './stop-moments.ts';
import type {Scene} from './stop-scene.ts';

const connecting = (): number => process.getActiveResourcesInfo().filter((it) => it.endsWith('ConnectWrap')).length;
/** A server that is busy tells by its HTTP answer for how long. */
const BUSY = {
  status: 429,
  body: {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'busy',
      details: [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '20s'}],
    },
  },
};
/** A connection that is lost in the middle of the model's turn. */
const lost = heard(
  (session) => session.say('one'),
  (session) => session.drop(),
);
const LOST = 'root: "one" [interrupted]';

/** The first attempt at another connection is made at once: what a timer of no time is, on a clock that stands still. */
async function connectedAgain(scene: Scene): Promise<void> {
  await scene.clock.pass(0);
  await until(() => scene.server.sessions.length === 2);
  await turns();
}

export const connectionMoments: readonly Moment[] = [
  {
    name: 'before the first next()',
    reads: 0,
    pending: false,
    connections: [],
    entered: [],
    stored: [],
    // Nothing knows of a run that has not begun.
    except: [
      'cancel() of the session',
      'cancel() of the run',
      'cancel() with a reason',
      'close() at its deadline',
      'the deadline of the run',
    ],
  },
  {
    name: 'on Vertex AI, while a token is fetched',
    gemini: () => ({
      project: 'p',
      location: 'l',
      googleAuthOptions: {authClient: {getRequestHeaders: () => new Promise(() => {})} as never},
    }),
    reads: 0,
    pending: true,
    reached: () => turns(60),
    isReachable: false,
    connections: [],
    stored: [GO],
  },
  {
    name: 'while TCP connects',
    gemini: async () => ({httpOptions: {baseUrl: await fullBacklog()}}),
    reads: 0,
    pending: true,
    reached: () => turns(60).then(() => until(() => connecting() > 0)),
    gone: () => until(() => connecting() === 0),
    isReachable: false,
    connections: [],
    stored: [GO],
  },
  {
    name: 'while the handshake is not answered',
    sessions: [{script: [], options: {handshake: 'stall'}}],
    reads: 0,
    pending: true,
    reached: (scene) => scene.server.nextSession(),
    connections: ['left'],
    stored: [GO],
  },
  {
    name: 'while the setup is not answered',
    sessions: [['setup']],
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 1),
    connections: ['setup left'],
    stored: [GO],
  },
  {
    name: 'while the server does not read what was said before',
    sessions: [
      async (session) => {
        await session.acknowledge();
        session.pauseReading();
      },
    ],
    earlier: [createEvent({author: 'user', content: {role: 'user', parts: [{text: MUCH}]}})],
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 1),
    after: (scene) => scene.session().resumeReading(),
    connections: ['setup left'],
    stored: [`user: ${JSON.stringify(MUCH)}`, GO],
  },
  {
    name: 'while nobody says anything',
    input: () => {},
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 1),
    connections: ['setup left'],
    stored: [],
  },
  {
    name: 'during a back-off',
    sessions: [{script: [], options: {handshake: BUSY}}],
    reads: 0,
    pending: true,
    reached: (scene) => until(() => scene.clock.delays.includes(20_000)),
    connections: [''],
    stored: [GO],
  },
  {
    name: 'while the next connection is not answered',
    sessions: [lost, {script: [], options: {handshake: 'stall'}}],
    reads: 2,
    pending: true,
    reached: connectedAgain,
    connections: ['setup clientContent', 'left'],
    llmCalls: 1,
    stored: [GO, LOST],
  },
  {
    name: 'while the setup of the next connection is not answered',
    sessions: [lost, ['setup']],
    reads: 2,
    pending: false,
    reached: connectedAgain,
    connections: ['setup clientContent', 'setup left'],
    llmCalls: 1,
    stored: [GO, LOST],
  },
  {
    name: 'while nothing comes over the next connection',
    sessions: [lost, heard()],
    reads: 2,
    pending: true,
    reached: connectedAgain,
    connections: ['setup clientContent', expect.stringMatching(/^setup( clientContent)+ left$/)],
    llmCalls: 1,
    stored: [GO, LOST],
  },
];
