/** The ways to stop a live run: those of every run, and more of `cancel`. */
import {cancel, kinds, type Kind} from '../wire/stop-kinds.ts';

const REASON = {why: 'the user hung up'};

export const liveKinds: readonly Kind[] = [
  ...kinds,
  {
    name: 'cancel() with a reason',
    settled: 'abort',
    isReason: (it) => it === REASON,
    stop: (scene, begun) => cancel(scene, {userId: 'u', sessionId: 's'}, begun, REASON),
  },
];
