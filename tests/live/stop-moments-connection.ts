/** Moments on the way to a connection, and between two of them. */
import {expect} from 'vitest';
import {BaseToolset, createEvent, type BaseTool, type Context} from 'sluice';
import {fullBacklog} from './stop-backlog.ts';
import {AFTER, arrived, GO, heard, MUCH, passGrace, turns, until, type Moment} from './stop-moments.ts';
import type {Scene} from './stop-scene.ts';

/** Tools that take their time to be listed. */
class SlowToolset extends BaseToolset {
  readonly #getTools: (context: Context | undefined) => Promise<BaseTool[]>;

  constructor(getTools: (context: Context | undefined) => Promise<BaseTool[]>) {
    super();
    this.#getTools = getTools;
  }

  override getTools(context?: Context): Promise<BaseTool[]> {
    return this.#getTools(context);
  }

  override async close(): Promise<void> {}
}

const LISTED = {name: 'while tools are listed', connections: [], stored: [], reads: 0, pending: true} as const;
const INSTRUCTED = {name: 'while the instruction is written', connections: [], stored: [], reads: 0, pending: true} as const;
const ASKED = {name: 'while the hook before the model is asked', connections: [], stored: [], reads: 0, pending: true} as const;

const entered =
  (what: string) =>
  (scene: Scene): Promise<void> =>
    until(() => scene.entered.includes(what)).then(() => turns());

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
    ...LISTED,
    tools: (scene) => [new SlowToolset((context) => scene.heeding('listing', context).then(() => []))],
    reached: entered('listing'),
    entered: ['listing', AFTER],
  },
  {
    ...LISTED,
    name: 'while tools are listed, which heed nothing',
    tools: (scene) => [new SlowToolset(() => scene.deaf('listing').then(() => []))],
    reached: entered('listing'),
    after: passGrace,
    entered: ['listing', AFTER],
    abandoned: ['toolsets of root'],
  },
  {
    ...INSTRUCTED,
    agent: (scene) => ({instruction: (context) => scene.heeding('instruction', context).then(() => 'late')}),
    reached: entered('instruction'),
    entered: ['instruction', AFTER],
  },
  {
    ...INSTRUCTED,
    name: 'while the instruction is written by one that heeds nothing',
    agent: (scene) => ({instruction: () => scene.deaf('instruction').then(() => 'late')}),
    reached: entered('instruction'),
    after: passGrace,
    entered: ['instruction', AFTER],
    abandoned: ['instruction of root'],
  },
  {
    ...ASKED,
    agent: (scene) => ({beforeModelCallback: ({context}) => scene.heeding('before model', context)}),
    reached: entered('before model'),
    entered: ['before model', AFTER],
  },
  {
    ...ASKED,
    name: 'while the hook before the model is asked, which ends in its own time',
    agent: (scene) => ({beforeModelCallback: () => scene.deaf('before model')}),
    reached: entered('before model'),
    after: ({letGo}) => letGo.resolve(),
    entered: ['before model', AFTER],
  },
  {
    ...ASKED,
    name: 'while the hook before the model is asked, which heeds nothing',
    agent: (scene) => ({beforeModelCallback: () => scene.deaf('before model')}),
    reached: entered('before model'),
    after: passGrace,
    entered: ['before model', AFTER],
    abandoned: ['beforeModelCallback of root'],
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
