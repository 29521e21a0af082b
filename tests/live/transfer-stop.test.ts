// Every way to stop a live run at every moment of a transfer in it, as `stop.test.ts` does at all others.
import {afterAll, describe} from 'vitest';
import {report, stopEveryWay} from './stop-check.ts';
import {transferMoments} from './stop-moments-transfer.ts';

describe('a live run that is handed over', () => {
  stopEveryWay(transferMoments);
});

afterAll(report);
