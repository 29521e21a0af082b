import type {LiveRequest, LiveRequestQueue} from '../agents/live-request-queue.ts';
import type {Content} from '../content.ts';
import type {RealtimeInput} from '../models/base-llm-connection.ts';
import type {LiveVoice} from './live-voice.ts';

export interface LiveInputOptions {
  readonly queue: LiveRequestQueue;
  /** Whether the model waits for calls, and takes no turn meanwhile. */
  readonly mustHold: () => boolean;
  readonly voice: Pick<LiveVoice, 'say' | 'stream'>;
}

/** What the user sends: passed on in order, but turns wait until the model has the answers to its calls. Sound does not wait for them. */
export class LiveInput {
  readonly #options: LiveInputOptions;
  readonly #held: Content[] = [];
  #saying: Promise<void> | undefined;
  #isOver = false;
  /** What the user has begun and not ended: a stream of sound, or a word of which he says himself where it begins and ends. */
  #open: 'stream' | 'activity' | undefined;
  #tellsActivity = false;

  constructor(options: LiveInputOptions) {
    this.#options = options;
  }

  /** Whether the user has said all, and it was passed on. */
  get isOver(): boolean {
    return this.#isOver && this.#held.length === 0 && !this.#saying;
  }

  /** Passes on what the queue holds, until it is closed. Rejects where something cannot be passed on. */
  async run(): Promise<void> {
    for await (const request of this.#options.queue) await this.#pass(request);
    // A microphone that is turned off tells the model that nothing more of a sentence comes.
    if (this.#open === 'stream') await this.#options.voice.stream({audioStreamEnd: true});
    if (this.#open === 'activity') await this.#options.voice.stream({activityEnd: {}});
    await this.#saying;
    this.#isOver = true;
  }

  /** Says the turns that were held back, as far as the model takes them. */
  async release(): Promise<void> {
    if (this.#held.length > 0 && !this.#options.mustHold()) this.#saying ??= this.#sayHeld();
    await this.#saying;
  }

  async #pass({content, realtimeInput}: LiveRequest): Promise<void> {
    if (realtimeInput) {
      this.#note(realtimeInput);
      await this.#options.voice.stream(realtimeInput);
    } else if (content) {
      this.#held.push(content);
      // What follows a turn waits for it, unless the turn itself has to wait: sound must get through meanwhile.
      await this.release();
    }
  }

  #note({audio, audioStreamEnd, activityStart, activityEnd}: RealtimeInput): void {
    if (activityStart) this.#open = 'activity';
    else if (activityEnd || audioStreamEnd) this.#open = undefined;
    // A server that is told when somebody speaks takes no end of a stream.
    else if (audio && !this.#tellsActivity) this.#open = 'stream';
    this.#tellsActivity ||= activityStart !== undefined || activityEnd !== undefined;
  }

  async #sayHeld(): Promise<void> {
    try {
      while (this.#held.length > 0 && !this.#options.mustHold()) {
        const [content] = this.#held.splice(0, 1);
        if (content) await this.#options.voice.say(content);
      }
    } finally {
      this.#saying = undefined;
    }
  }
}
