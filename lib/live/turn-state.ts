/**
 * Whether the model has something to say, as far as one can know: `open` while an answer is owed or under way, `unsure` where the user may
 * have spoken, `closed` otherwise.
 */
export class TurnState {
  #state: 'open' | 'unsure' | 'closed';
  /** How many turns the user has said: before the model began to speak, which it may answer all at once, and since. */
  #answering = 0;
  #asked = 0;
  #owesAnswer = false;
  /** A reply is what comes between calls; a turn may be several of them. */
  #inReply = false;
  #inTurn = false;
  #interrupted = false;

  /** @param isAsked - whether it begins with something that is still to be said to the model */
  constructor(isAsked: boolean) {
    this.#state = isAsked ? 'open' : 'closed';
  }

  get current(): 'open' | 'unsure' | 'closed' {
    return this.#state;
  }

  /** The user says something as a whole turn. */
  asked(): void {
    this.#state = 'open';
    this.#asked++;
  }

  /** Something is streamed to the model, which it may answer or not. */
  streamed(): void {
    if (this.#state === 'closed') this.#state = 'unsure';
  }

  /** Calls are answered, and the model goes on from there. */
  answered(): void {
    this.#state = 'open';
    this.#owesAnswer = true;
  }

  /** The model says something. Returns whether a reply begins with it. */
  said(): boolean {
    const begins = !this.#inReply;
    if (begins) this.#answering += this.#asked;
    if (begins) this.#asked = 0;
    this.#inReply = true;
    this.#inTurn = true;
    this.#owesAnswer = false;
    this.#state = 'open';
    return begins;
  }

  /** The model stops to wait for calls: what it says next is another reply. */
  called(): void {
    this.#inReply = false;
  }

  /** The user has cut the model off, and has perhaps said what it will answer next. */
  interrupted(): void {
    this.#interrupted = true;
  }

  /** The turn is complete. Where calls were just answered it is the turn that made them, and another one may follow. */
  completed(): void {
    // A turn without a word is the answer to what was asked, unless that has cut off another one.
    if (!this.#inTurn && !this.#interrupted) this.#asked = 0;
    const mayGoOn = this.#owesAnswer || this.#interrupted || this.#answering > 1;
    this.#state = this.#asked > 0 ? 'open' : mayGoOn ? 'unsure' : 'closed';
    this.#owesAnswer = false;
    this.#leaveTurn();
  }

  /** The connection is gone. What is said over the next one counts anew. */
  lost(): void {
    if (this.#state === 'open') this.#state = 'unsure';
    this.#asked = 0;
    this.#leaveTurn();
  }

  #leaveTurn(): void {
    this.#answering = 0;
    this.#inReply = false;
    this.#inTurn = false;
    this.#interrupted = false;
  }
}
