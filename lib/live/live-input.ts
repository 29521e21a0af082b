import type {LiveRequest} from '../agents/live-request-queue.ts';
import type {Content} from '../content.ts';
import type {RealtimeInput} from '../models/base-llm-connection.ts';
import type {LiveVoice} from './live-voice.ts';
import type {SharedInput} from './shared-input.ts';

export interface LiveInputOptions {
  readonly input: SharedInput;
  /** Whether the model waits for calls, and takes no turn meanwhile. */
  readonly mustHold: () => boolean;
  readonly voice: Pick<LiveVoice, 'say' | 'stream'>;
}

/** What the user sends: passed on in order, but turns wait until the model has the answers to its calls. Sound does not wait for them. */
export class LiveInput {
  readonly #options: LiveInputOptions;
  readonly #held: Content[] = [];
  /** What could not be passed on any more. */
  #unsent: LiveRequest | undefined;
  #hasLeft = false;
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

  /** Passes on what the user sends, until that is all. Rejects where something cannot be passed on. */
  async run(): Promise<void> {
    const {input} = this.#options;
    while (!this.#hasLeft) {
      const request = await input.next();
      if (!request) break;
      // It may have come just then.
      if (this.#hasLeft) this.#unsent = request;
      else await this.#pass(request);
    }
    if (this.#hasLeft) return;
    // A microphone that is turned off tells the model that nothing more of a sentence comes.
    if (this.#open === 'stream') await this.#options.voice.stream({audioStreamEnd: true});
    if (this.#open === 'activity') await this.#options.voice.stream({activityEnd: {}});
    await this.#saying;
    this.#isOver = true;
  }

  /** Says the turns that were held back, as far as the model takes them. */
  async release(): Promise<void> {
    if (this.#maySay) this.#saying ??= this.#sayHeld();
    await this.#saying;
  }

  /** Passes on nothing more: what the user sends is for somebody else. */
  leave(): void {
    this.#hasLeft = true;
    this.#options.input.leave();
  }

  /** Gives back what was not passed on; a word that the user is in the middle of begins anew. To be asked once nothing goes on any more. */
  giveBack(): void {
    const held = this.#held.splice(0).map((content) => ({content}));
    const begun = this.#open === 'activity' ? [{realtimeInput: {activityStart: {}}}] : [];
    this.#options.input.giveBack([...held, ...begun, ...(this.#unsent ? [this.#unsent] : [])]);
  }

  get #maySay(): boolean {
    return this.#held.length > 0 && !this.#hasLeft && !this.#options.mustHold();
  }

  async #pass({content, realtimeInput}: LiveRequest): Promise<void> {
    if (realtimeInput) {
      await this.#stream(realtimeInput);
      this.#note(realtimeInput);
    } else if (content) {
      this.#held.push(content);
      // What follows a turn waits for it, unless the turn itself has to wait: sound must get through meanwhile.
      await this.release();
    }
  }

  async #stream(realtimeInput: RealtimeInput): Promise<void> {
    try {
      await this.#options.voice.stream(realtimeInput);
    } catch (error) {
      // Text was stored: whoever hears the user next is told of it.
      if (realtimeInput.text === undefined) this.#unsent = {realtimeInput};
      throw error;
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
      while (this.#maySay) {
        const [content] = this.#held.splice(0, 1);
        if (content) await this.#options.voice.say(content);
      }
    } finally {
      this.#saying = undefined;
    }
  }
}
