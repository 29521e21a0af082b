import type {Transcription} from '../content.ts';

/** What somebody says, written down in fragments. */
export class Transcript {
  #id = crypto.randomUUID();
  #text = '';
  #last: Transcription = {};

  /** The id of the Event that will hold the whole. */
  get id(): string {
    return this.#id;
  }

  get isOpen(): boolean {
    return this.#text !== '';
  }

  add(fragment: Transcription): void {
    this.#text += fragment.text ?? '';
    this.#last = {...this.#last, ...fragment};
  }

  /** The whole, if anything was said; then the next one begins. */
  finish(): {readonly id: string; readonly transcription: Transcription} | undefined {
    if (!this.isOpen) return undefined;
    const whole = {id: this.#id, transcription: {...this.#last, text: this.#text, finished: true}};
    this.#id = crypto.randomUUID();
    this.#text = '';
    this.#last = {};
    return whole;
  }
}
