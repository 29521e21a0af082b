/** What is said in the conversation that is stopped after each of its promise jobs. */
import {FunctionTool, type FunctionCall, type FunctionToolOptions, type LiveRequestQueue, type LlmResponse} from 'sluice';
import type {DoubleScript} from './stop-double.ts';

const say = (text: string): LlmResponse => ({content: {role: 'model', parts: [{text}]}, partial: true});
const call = (...names: readonly string[]): LlmResponse => ({
  content: {role: 'model', parts: names.map((name): {functionCall: FunctionCall} => ({functionCall: {name, id: name, args: {}}}))},
});
const DONE: LlmResponse = {turnComplete: true};

/** All that the user and the model say aloud or write, without what the user types. */
export const SAID: Readonly<Record<string, string>> = {user: 'GoWell', root: 'I lookYes, moreSoBye'};

/**
 * Calls in one message, of which the model does not wait for one; what the user says meanwhile; an interruption; a call that is taken back; and a
 * connection that is lost.
 */
export const scripts: readonly DoubleScript[] = [
  async (connection) => {
    await connection.heard('turn go');
    connection.says({inputTranscription: {text: 'Go'}}, {outputTranscription: {text: 'I '}}, {outputTranscription: {text: 'look'}});
    connection.says(call('a', 'ticker', 'b'));
    await connection.heard('answer a b');
    await connection.heard('turn more');
    connection.says(say('Yes, '), say('more'), {interrupted: true}, DONE);
    connection.says(call('slow', 'quick'));
    await ticks(40);
    connection.says({toolCallCancellation: {ids: ['slow']}});
    await connection.heard('answer quick');
    connection.says({liveSessionResumptionUpdate: {newHandle: 'h', resumable: true}}, say('So'));
    connection.lose();
  },
  async (connection) => {
    await ticks(40);
    connection.says({inputTranscription: {text: 'Well', finished: true}}, {outputTranscription: {text: 'Bye'}}, DONE);
  },
];

/** The user's side: what is sent to the queue, and whether somebody still waits for room in it. */
export class DoubleUser {
  readonly #queue: LiveRequestQueue;
  #waiting = 0;

  constructor(queue: LiveRequestQueue) {
    this.#queue = queue;
  }

  /** How many sends have found no room, and were not let go. */
  get waiting(): number {
    return this.#waiting;
  }

  say(text: string): void {
    this.#send(() => this.#queue.sendContent({parts: [{text}]}));
  }

  hum(): void {
    this.#send(() => this.#queue.sendRealtime({mimeType: 'audio/pcm', data: 'AAAA'}));
  }

  #send(send: () => Promise<void>): void {
    if (this.#queue.closed) return;
    this.#waiting++;
    void send().then(() => this.#waiting--);
  }
}

/**
 * The tools that the model calls.
 *
 * @param note - told of each body that begins
 */
export function scriptedTools(queue: LiveRequestQueue, user: DoubleUser, note: (what: string) => void): FunctionTool[] {
  const tool = (name: string, execute: FunctionToolOptions['execute'], options: Partial<FunctionToolOptions> = {}): FunctionTool =>
    new FunctionTool({
      ...options,
      name,
      description: 'A tool.',
      execute: (args, context) => (note(`tool ${name}`), execute?.(args, context)),
    });
  return [
    tool('a', async () => {
      // It is held back until the calls are answered.
      user.say('more');
      await ticks(9);
      return 'A';
    }),
    tool('b', async function* () {
      yield 'on the way';
      await ticks(3);
      return 'B';
    }),
    tool(
      'ticker',
      async function* () {
        for (let n = 0; n < 3; n++) {
          yield n;
          await ticks(30);
        }
        return 'T';
      },
      {responseScheduling: 'WHEN_IDLE'},
    ),
    tool('slow', (_args, {abortSignal}) => {
      return new Promise((_, reject) => abortSignal.addEventListener('abort', () => reject(abortSignal.reason as Error), {once: true}));
    }),
    tool('quick', async () => {
      user.hum();
      queue.close();
      await ticks(2);
      return 'Q';
    }),
  ];
}

/** So many promise jobs. */
export async function ticks(count: number): Promise<void> {
  for (let n = 0; n < count; n++) await Promise.resolve();
}
