/** Moments at which sound is kept. */
import {InMemoryArtifactService} from 'sluice';
import {AFTER, entered, GO, heard, passGrace, type Moment} from './stop-moments.ts';

const speaks = heard((session) => {
  session.audio('AAAA');
  session.transcribeOutput('one');
});

export const soundMoments: readonly Moment[] = [
  {
    name: 'while the sound of a turn is kept',
    sessions: [
      heard((session) => {
        session.audio('AAAA');
        session.transcribeOutput('one');
        session.completeTurn();
      }),
    ],
    runConfig: {saveLiveBlob: true},
    runner: (scene) => ({artifactService: new SlowArtifacts(() => scene.deaf('saving'))}),
    reads: 2,
    pending: true,
    reached: entered('saving'),
    after: ({letGo}) => letGo.resolve(),
    connections: ['setup clientContent left'],
    entered: ['saving', AFTER],
    llmCalls: 1,
    stored: [GO, 'root: spoke:"one" [turn complete]'],
  },
  {
    name: 'while the sound of a turn is kept by a service that does not come back',
    sessions: [
      heard((session) => {
        session.audio('AAAA');
        session.transcribeOutput('one');
        session.completeTurn();
        session.transcribeOutput('two');
      }),
    ],
    runConfig: {saveLiveBlob: true},
    runner: (scene) => ({artifactService: new SlowArtifacts(() => scene.deaf('saving'))}),
    reads: 2,
    pending: true,
    reached: entered('saving'),
    after: passGrace,
    connections: ['setup clientContent left'],
    entered: ['saving', AFTER],
    llmCalls: 2,
    abandoned: ['artifact service'],
    stored: [GO, 'root: spoke:"one" [turn complete]', 'root: spoke:"two" [stopped]'],
  },
  {
    name: 'while the model speaks, with a service for its sound that does not come back',
    sessions: [speaks],
    runConfig: {saveLiveBlob: true},
    runner: (scene) => ({artifactService: new SlowArtifacts(() => scene.deaf('saving'))}),
    reads: 2,
    pending: false,
    // It is asked while the run closes.
    after: (scene) => void entered('saving')(scene).then(() => passGrace(scene)),
    connections: ['setup clientContent left'],
    entered: ['saving', AFTER],
    llmCalls: 1,
    abandoned: ['artifact service'],
    stored: [GO, 'root: spoke:"one" [stopped]'],
  },
  {
    name: 'while the model speaks, with a service for its sound that fails',
    sessions: [speaks],
    runConfig: {saveLiveBlob: true},
    runner: () => ({artifactService: new SlowArtifacts(() => Promise.reject(new RangeError('full')))}),
    reads: 2,
    pending: false,
    connections: ['setup clientContent left'],
    llmCalls: 1,
    failed: ['artifact service'],
    stored: [GO, 'root: spoke:"one" [stopped]'],
  },
];

/** Keeps artifacts in its own time. */
class SlowArtifacts extends InMemoryArtifactService {
  readonly #wait: () => Promise<void>;

  constructor(wait: () => Promise<void>) {
    super();
    this.#wait = wait;
  }

  override async saveArtifact(request: Parameters<InMemoryArtifactService['saveArtifact']>[0]): Promise<number> {
    await this.#wait();
    return super.saveArtifact(request);
  }
}
