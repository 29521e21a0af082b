/** Moments of a conversation without calls. */
import {AFTER, arrived, GO, heard, MUCH, ONE, passGrace, turns, until, type Moment} from './stop-moments.ts';
import type {Scene} from './stop-scene.ts';

const says = heard((session) => session.say('one'));
const entered =
  (what: string) =>
  (scene: Scene): Promise<void> =>
    until(() => scene.entered.includes(what)).then(() => turns());

export const talkMoments: readonly Moment[] = [
  {
    name: 'while the answer is awaited',
    sessions: [heard()],
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 2),
    connections: ['setup clientContent left'],
    stored: [GO],
  },
  {
    name: 'in mid turn',
    sessions: [says],
    reads: 1,
    pending: true,
    reached: () => turns(),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, ONE],
  },
  {
    name: 'in mid turn, between two next() calls',
    sessions: [says],
    reads: 1,
    pending: false,
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, ONE],
  },
  {
    name: 'in mid turn, while the model goes on',
    sessions: [
      heard(async (session) => {
        session.say('one');
        for (;;) {
          await session.delay(1);
          session.audio('AAAA');
        }
      }),
    ],
    reads: 1,
    pending: false,
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, ONE],
  },
  {
    name: 'while the model speaks',
    sessions: [
      heard((session) => {
        session.audio('AAAA');
        session.transcribeOutput('I ');
        session.transcribeOutput('have');
      }),
    ],
    reads: 3,
    pending: true,
    reached: () => turns(),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, 'root: spoke:"I have" [stopped]'],
  },
  {
    name: 'while the user speaks',
    sessions: [
      [
        (session) => session.acknowledge(),
        'realtimeInput',
        (session) => {
          session.transcribeInput('What ');
          session.transcribeInput('about');
        },
      ],
    ],
    queue: {highWaterMark: 1000},
    input: (scene) => scene.hear('AAAA'),
    reads: 2,
    pending: false,
    connections: ['setup realtimeInput left'],
    stored: ['user: heard:"What about"'],
  },
  {
    name: 'while Events wait for their reader',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
        session.say('two');
      }),
    ],
    reads: 1,
    pending: false,
    reached: () => turns(60),
    connections: ['setup clientContent left'],
    llmCalls: 2,
    stored: [GO, 'root: "one" [turn complete]', 'root: "two" [stopped]'],
  },
  {
    name: 'between the turns',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
      }),
    ],
    reads: 2,
    pending: true,
    reached: () => turns(),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, 'root: "one" [turn complete]'],
  },
  {
    name: 'while the server does not read the sound of the user',
    sessions: [
      async (session) => {
        await session.acknowledge();
        session.pauseReading();
      },
    ],
    input: (scene) => {
      for (let n = 0; n < 3; n++) scene.hear(MUCH);
    },
    queue: {maxSize: Infinity},
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 1),
    after: (scene) => scene.session().resumeReading(),
    connections: ['setup left'],
    stored: [],
  },
  {
    name: 'after the queue was closed, while the last turn is awaited',
    sessions: [says],
    input: (scene) => {
      scene.say('go');
      scene.queue.close();
    },
    reads: 1,
    pending: true,
    reached: () => turns(),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, ONE],
  },
  {
    name: 'after the queue was closed, while the model may have something to say',
    // By then it has had its time.
    except: ['the deadline of the run'],
    sessions: [[(session) => session.acknowledge(), 'realtimeInput', 'realtimeInput']],
    queue: {highWaterMark: 1000},
    input: (scene) => {
      scene.hear('AAAA');
      scene.queue.close();
    },
    reads: 0,
    pending: true,
    reached: (scene) => arrived(scene, 3),
    connections: ['setup realtimeInput realtimeInput left'],
    stored: [],
  },
  {
    name: 'between the last Event and the end',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
      }),
    ],
    input: (scene) => {
      scene.say('go');
      scene.queue.close();
    },
    reads: 2,
    pending: false,
    reached: (scene) => until(() => scene.session().isClosed).then(() => turns()),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, 'root: "one" [turn complete]'],
  },
  {
    name: 'while the server goes, in mid turn',
    sessions: [
      heard((session) => {
        session.say('one');
        session.goAway('60s');
      }),
    ],
    reads: 2,
    pending: true,
    reached: () => turns(),
    connections: ['setup clientContent left'],
    llmCalls: 1,
    stored: [GO, ONE],
  },
  {
    name: 'while the store writes what the user said',
    sessions: [heard()],
    slowAppend: 1,
    reads: 0,
    pending: true,
    reached: (scene) => scene.store.writing.then(() => arrived(scene, 1)),
    after: (scene) => scene.store.open(),
    connections: ['setup left'],
    stored: [GO],
  },
  {
    name: 'while the store writes what the model said',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
        session.say('two');
      }),
    ],
    slowAppend: 2,
    reads: 1,
    pending: true,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: (scene) => scene.store.open(),
    connections: ['setup clientContent left'],
    llmCalls: 2,
    stored: [GO, 'root: "one" [turn complete]', 'root: "two" [stopped]'],
  },
  {
    name: 'while the store does not come back',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
        session.say('two');
      }),
    ],
    slowAppend: 2,
    reads: 1,
    pending: true,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: ({clock}) => void clock.pass(1_500),
    connections: ['setup clientContent left'],
    llmCalls: 2,
    abandoned: ['agent root'],
    // It has used up the time of the closing, too.
    failed: ['the closing of unfinished work', 'the closing of unfinished work'],
    stored: [GO],
  },
  {
    name: 'while the hook after the model looks',
    sessions: [says],
    agent: (scene) => ({afterModelCallback: ({context}) => scene.heeding('after model', context)}),
    reads: 0,
    pending: true,
    reached: entered('after model'),
    connections: ['setup clientContent left'],
    entered: ['after model', AFTER],
    stored: [GO],
  },
  {
    name: 'while the hook after the model looks, which ends in its own time',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
      }),
    ],
    agent: (scene) => ({afterModelCallback: ({response}) => (response.turnComplete ? scene.deaf('after model') : undefined)}),
    reads: 1,
    pending: true,
    reached: entered('after model'),
    after: ({letGo}) => letGo.resolve(),
    connections: ['setup clientContent left'],
    entered: ['after model', AFTER],
    llmCalls: 1,
    stored: [GO, 'root: "one" [turn complete]'],
  },
  {
    name: 'while the hook after the model looks, which heeds nothing',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
      }),
    ],
    agent: (scene) => ({afterModelCallback: ({response}) => (response.turnComplete ? scene.deaf('after model') : undefined)}),
    reads: 1,
    pending: false,
    reached: entered('after model'),
    after: passGrace,
    connections: ['setup clientContent left'],
    entered: ['after model', AFTER],
    llmCalls: 1,
    abandoned: ['afterModelCallback of root'],
    stored: [GO, ONE],
  },
];
