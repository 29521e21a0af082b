/** Moments at which hooks and the store of the sessions are at work. */
import {AFTER, arrived, entered, GO, heard, ONE, passGrace, turns, type Moment} from './stop-moments.ts';

const says = heard((session) => session.say('one'));

export const ownMoments: readonly Moment[] = [
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
    abandoned: ['session service'],
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
  {
    name: 'while the hook for errors of the model is asked',
    sessions: [heard((session) => session.close(1008, 'Enough.'))],
    agent: (scene) => ({onModelErrorCallback: ({context}) => scene.heeding('model error', context)}),
    reads: 0,
    pending: true,
    reached: entered('model error'),
    connections: ['setup clientContent'],
    entered: ['model error', AFTER],
    stored: [GO],
  },
];
