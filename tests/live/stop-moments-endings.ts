/** Moments at which a conversation, or a connection, is about to end. */
import {arrived, GO, heard, ONE, turns, until, type Moment} from './stop-moments.ts';

const says = heard((session) => session.say('one'));

export const endingMoments: readonly Moment[] = [
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
    name: 'while the run goes over to another connection',
    sessions: [
      heard((session) => {
        session.say('one');
        session.completeTurn();
        session.offerResumption('h');
        session.goAway('60s');
      }),
      {script: [], options: {handshake: 'stall'}},
    ],
    reads: 4,
    pending: true,
    reached: async (scene) => {
      await until(() => scene.session().isClosed);
      await scene.clock.pass(0);
      await until(() => scene.server.sessions.length === 2);
    },
    connections: ['setup clientContent left', 'left'],
    llmCalls: 1,
    stored: [GO, 'root: "one" [turn complete]'],
  },
];
