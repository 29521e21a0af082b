// Every way to stop a live run at every moment of it, over real sockets against servers that watch them. The clock of the timers is a fake
// one that only a test moves: so no stop may need a grace or a deadline to come to its end, and each timer that is left is seen.
import {afterAll, describe} from 'vitest';
import {report, stopEveryWay} from './stop-check.ts';
import {answerMoments} from './stop-moments-answers.ts';
import {callMoments} from './stop-moments-calls.ts';
import {connectionMoments} from './stop-moments-connection.ts';
import {endingMoments} from './stop-moments-endings.ts';
import {ownMoments} from './stop-moments-own.ts';
import {preparingMoments} from './stop-moments-preparing.ts';
import {soundMoments} from './stop-moments-sound.ts';
import {talkMoments} from './stop-moments-talk.ts';

describe('a live run', () => {
  stopEveryWay([
    ...preparingMoments,
    ...connectionMoments,
    ...talkMoments,
    ...callMoments,
    ...answerMoments,
    ...ownMoments,
    ...soundMoments,
    ...endingMoments,
  ]);
});

afterAll(report);
