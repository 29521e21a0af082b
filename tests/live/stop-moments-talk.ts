/** Moments of a conversation without calls. */
import {arrived, GO, heard, MUCH, ONE, turns, type Moment} from './stop-moments.ts';

const says = heard((session) => session.say('one'));

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
];
