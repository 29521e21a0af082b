import type {RunScope} from '../agents/run-scope.ts';
import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import {within} from '../async/within.ts';
import type {Blob} from '../content.ts';
import {expectOption, InvalidOptionError, messageOf} from '../errors.ts';
import type {Event} from '../events/event.ts';

const NAME = 'artifact service';

/**
 * Keeps the sound of a live run as artifacts, one for what the user said and one for what the model said, each named by the Event that holds
 * its transcript. The Event tells of it in `actions.artifactDelta`; no Event holds sound.
 */
export class LiveRecorder {
  readonly #service: BaseArtifactService;
  readonly #run: RunScope;
  readonly #heard: Blob[];
  readonly #spoken: Blob[] = [];

  /**
   * @param heard - what the user has said before
   * @throws {@link InvalidOptionError} where there is no service to keep it
   */
  constructor(service: BaseArtifactService | undefined, run: RunScope, heard: readonly Blob[]) {
    expectOption(service !== undefined, 'runConfig.saveLiveBlob', 'left out, as the runner has no artifactService', true);
    this.#service = service;
    this.#run = run;
    this.#heard = [...heard];
  }

  /** What the user has said that belongs to an Event which is not made yet. */
  get heard(): readonly Blob[] {
    return this.#heard;
  }

  /** The user says something. */
  hear(sound: Blob | undefined): void {
    if (sound) this.#heard.push(sound);
  }

  /** The model says something, in a partial Event. What belongs to a whole Event is set aside for it when it is made. */
  note(event: Event): () => Promise<void> {
    for (const {inlineData} of event.content?.parts ?? []) if (inlineData?.mimeType?.startsWith('audio/')) this.#spoken.push(inlineData);
    if (event.partial) return async () => {};
    const saves: (() => Promise<void>)[] = [];
    if (event.author === 'user' || event.turnComplete) {
      const heard = this.#heard.splice(0);
      saves.push(() => this.#save(event, 'user', heard));
    }
    if (event.author !== 'user') {
      const spoken = this.#spoken.splice(0);
      saves.push(() => this.#save(event, 'model', spoken));
    }
    return async () => {
      for (const save of saves) await save();
    };
  }

  async #save(event: Event, who: string, sound: readonly Blob[]): Promise<void> {
    const [first] = sound;
    if (!first?.mimeType) return;
    const {appName, userId, id: sessionId} = this.#run.session;
    const filename = `live/${event.id}/${who}`;
    // Each piece may end with padding, so that they cannot just be put one behind the other.
    const data = btoa(sound.map(bytesOf).join(''));
    const artifact = {inlineData: {mimeType: first.mimeType, data}};
    const version = await this.#finish(async () => this.#service.saveArtifact({appName, userId, sessionId, filename, artifact}));
    if (version !== undefined) event.actions.artifactDelta[filename] = version;
  }

  /** Waits for the service; after a stop no longer than the grace, and whatever it comes to: what was said is stored without its sound. */
  async #finish(save: () => Promise<number>): Promise<number | undefined> {
    const {open, life, timers, config, diagnose} = this.#run;
    const leave = open.enter({name: NAME});
    const own = life.child();
    let cancel = (): void => {};
    try {
      const saving = save();
      const isOver = await within(saving, (callback) => {
        own.onEnd(() => (cancel = timers.set(config.abortGraceMs, callback)));
        return () => cancel();
      });
      if (isOver) return await saving;
      diagnose({code: 'WORK_ABANDONED', name: NAME, message: `The ${NAME} did not end after the stop and was left behind`});
    } catch (cause) {
      if (!life.ended) throw cause;
      diagnose({code: 'CLOSE_FAILED', name: NAME, cause, message: `While the run closed, the ${NAME} failed: ${messageOf(cause)}`});
    } finally {
      own.close();
      leave();
    }
    return undefined;
  }
}

/** The bytes of a piece, which some clients write in the alphabet of URLs. */
function bytesOf({data = ''}: Blob): string {
  try {
    return atob(data.replaceAll('-', '+').replaceAll('_', '/'));
  } catch (cause) {
    throw new InvalidOptionError('data', 'sound in base64', data, {cause});
  }
}
