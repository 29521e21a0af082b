import {getFunctionCalls, getFunctionResponses, type Event} from 'sluice';
import {responseText} from '../demo/event-printer.ts';
import {EventRows} from '../demo/event-rows.ts';
import {brief} from '../demo/screen.ts';
import {describeSound, durationOf, soundIn} from './sound.ts';

/** Prints the Events of a live run as they come. Sound and fragments of transcripts grow on one line, in the order in which they come. */
export class LiveEventPrinter {
  readonly #rows: EventRows;
  /** How many bytes of sound have come since the last whole Event of the model. */
  #sound = 0;

  /** @param start - what the times count from, on the scale of `performance.now()` */
  constructor(start: number) {
    this.#rows = new EventRows(start);
  }

  /** What the user says, and how much of it there is to send. */
  user(text: string, amount?: string): void {
    this.#rows.row({author: 'you', mark: '●', kind: amount ? 'speak' : 'type'}, `“${text}”`);
    if (amount) this.#rows.more(amount, 'dim');
  }

  event(event: Event): void {
    if (event.partial) this.#partial(event);
    else this.#whole(event);
  }

  #partial(event: Event): void {
    const {author, inputTranscription, outputTranscription} = event;
    const head = {author, mark: '·', kind: 'partials'} as const;
    const sound = soundIn(event);
    this.#sound += sound;
    // One word, so that it is not broken.
    if (sound > 0) this.#rows.grow(head, `♪${Math.round(durationOf(sound))}ms `, 'cyan');
    const text = (inputTranscription ?? outputTranscription)?.text;
    if (text) this.#rows.grow(head, text);
    for (const told of signalsOf(event)) this.#rows.row({author, mark: '·', kind: 'signal'}, told, 'dim');
  }

  /** One row for each whole Event, with as many lines as it has something to tell. */
  #whole(event: Event): void {
    const calls = getFunctionCalls(event);
    const called = calls.length > 0 ? [`calls ${calls.map(({name}) => name).join(', ')}`] : [];
    const [first, ...more] = [...this.#said(event), ...called, ...getFunctionResponses(event).map(responseText)];
    if (first === undefined) return;
    this.#rows.row({author: event.author, mark: '●', kind: 'event'}, first);
    for (const text of more) this.#rows.more(text);
  }

  /** What of a speech is kept, and what has passed by. */
  #said(event: Event): string[] {
    const {author, inputTranscription, outputTranscription, usageMetadata} = event;
    const {text} = inputTranscription ?? outputTranscription ?? {};
    const tokens = usageMetadata?.totalTokenCount;
    const facts = [...signalsOf(event), ...(text ? [`the whole transcript, ${text.length} characters`] : [])];
    if (tokens !== undefined) facts.push(`${tokens} tokens`);
    const rows = facts.length > 0 ? [facts.join('; ')] : [];
    if (author === 'user') return rows;
    if (this.#sound > 0) rows.push(`♪ without its sound: ${describeSound(this.#sound)}`);
    this.#sound = 0;
    return rows;
  }

  /** Ends the line that grows. */
  end(): void {
    this.#rows.end();
  }

  /** Ends it with a mark: nothing more comes. */
  cut(how: string): void {
    this.#rows.cut(how);
  }
}

function signalsOf(event: Event): string[] {
  const {goAway, liveSessionResumptionUpdate: update, toolCallCancellation, generationComplete, interrupted, turnComplete} = event;
  return [
    ...(goAway ? [`goAway: ${goAway.timeLeft ?? 'soon'} left`] : []),
    ...(update ? [`can be resumed: ${brief(update.newHandle)}`] : []),
    ...(toolCallCancellation ? [`cancels ${toolCallCancellation.ids?.join(', ')}`] : []),
    ...(generationComplete ? ['generation complete'] : []),
    ...(interrupted ? ['interrupted'] : []),
    ...(turnComplete ? ['turn complete'] : []),
  ];
}
