import type {Content} from '../content.ts';
import type {Runner} from '../runner/runner.ts';
import type {SessionKey} from '../sessions/session.ts';
import {ExitCode} from './cli-error.ts';
import type {Interrupts} from './interrupts.ts';
import type {Input} from './line-input.ts';
import {jsonMessage, textMessage} from './message.ts';
import {failureText, type Printer} from './printer.ts';
import {nextQuestion, type Question} from './question.ts';
import type {Screen} from './screen.ts';

/** What a chat is made of. */
export interface ChatOptions {
  readonly runner: Runner;
  /** A session that exists. */
  readonly key: SessionKey;
  readonly input: Input;
  readonly printer: Printer;
  readonly screen: Screen;
  readonly interrupts: Interrupts;
  /** Whether messages come as JSON. Otherwise one that follows a call that waits is its answer. */
  readonly json: boolean;
  /** Called after each run, once everything of it is stored. */
  readonly keep: () => Promise<void>;
}

/** Runs an agent on one message after the other, until there is none or the program is to end. Resolves with whether every run succeeded. */
export async function chat(options: ChatOptions): Promise<boolean> {
  const {input, interrupts, keep} = options;
  let succeeded = true;
  let skips = false;
  while (!interrupts.leave.aborted) {
    const waiting = skips || options.json ? undefined : await nextWaiting(options);
    const line = await input.next(waiting?.prompt ?? '> ');
    if (line === undefined || interrupts.leave.aborted) break;
    // An empty line lets a call wait on, and the user speak.
    skips = line.trim() === '';
    if (skips) continue;
    const message = waiting ? waiting.answer(line) : options.json ? jsonMessage(line) : textMessage(line);
    succeeded = (await runOnce(options, message)) && succeeded;
    await keep();
  }
  return succeeded;
}

/** The first question that waits; how to answer it is told. */
async function nextWaiting({runner, key, screen}: ChatOptions): Promise<Question | undefined> {
  const session = await runner.sessionService.getSession(key);
  const question = nextQuestion(session?.events ?? []);
  if (question) await screen.note(question.note);
  return question;
}

/**
 * One run; resolves, once it has settled, with whether it succeeded. A stop is no failure: whoever stops the program says how it ends.
 * A reply without usable content is one.
 */
function runOnce({runner, key, printer, screen, interrupts}: ChatOptions, newMessage: Content): Promise<boolean> {
  return interrupts.during(async (abortSignal) => {
    const {userId, sessionId} = key;
    const run = runner.runAsync({userId, sessionId, newMessage, abortSignal});
    let failure: unknown;
    try {
      for await (const event of run) await printer.event(event);
    } catch (error) {
      failure = error;
    }
    const outcome = await run.settled;
    const isStop = outcome.kind === 'abort';
    // A reader of stdout that has left is gone for good, and need not be told.
    await printer.end(isStop && interrupts.exitCode !== ExitCode.DONE);
    if (failure !== undefined && !isStop) await screen.problem(failureText(failure));
    return isStop || (failure === undefined && outcome.errorCode === undefined);
  });
}
