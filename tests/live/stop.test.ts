// Every way to stop a live run at every moment of it, over real sockets against servers that watch them. The clock of the timers is a fake
// one that only a test moves: so no stop may need a grace or a deadline to come to its end, and each timer that is left is seen.
import {afterAll, describe} from 'vitest';
import {connectionMoments} from './stop-moments-connection.ts';
import {talkMoments} from './stop-moments-talk.ts';
import {callMoments} from './stop-moments-calls.ts';
import {report, stopEveryWay} from './stop-check.ts';

describe('a live run', () => {
  stopEveryWay([...connectionMoments, ...talkMoments, ...callMoments]);
});

afterAll(report);
