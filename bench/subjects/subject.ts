import type {Content} from '@google/genai';

export interface SubjectOptions {
  /** The body of the one tool, `tool`, whose argument is `{n: number}`. */
  readonly tool: (args: {readonly n: number}, abortSignal: AbortSignal) => Promise<string>;
  /** How many bodies may run at a time. */
  readonly width: number;
  /** How long a body may block the event loop; `Infinity`: nobody watches. */
  readonly blockedLoopMs?: number;
}

/** What a run yields; of it a benchmark reads this much. */
export interface Step {
  readonly content?: Content;
  readonly partial?: boolean;
}

/** One way to run an agent with the scripted model and one tool. */
export interface Subject {
  /** A new conversation, kept in memory. */
  open(): Promise<Conversation>;
}

export interface Conversation {
  /** One run, cold until it is read. */
  say(text: string, options?: SayOptions): AsyncIterable<Step>;
  /** How many Events or messages are kept. */
  size(): Promise<number>;
  /** Forgets it. A floor's is forgotten with the object; a session would stay, and its weight be counted against the runs that follow. */
  close(): Promise<void>;
}

export interface SayOptions {
  readonly stream?: boolean;
  readonly abortSignal?: AbortSignal;
}
