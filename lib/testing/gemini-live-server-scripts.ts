import {messageOf} from '../errors.ts';
import type {LiveCore} from './gemini-live-server-core.ts';
import {isRecord, LiveSessionClosedError, readBody, type LiveClientKind} from './gemini-live-server-inbox.ts';
import type {LiveHandshakeRefusal} from './gemini-live-server-request.ts';
import type {LiveServerSession} from './gemini-live-server-session.ts';

/** A step of a script: waits for a message of that kind, sends that message, or does something. */
export type LiveStep = LiveClientKind | Readonly<Record<string, unknown>> | ((session: LiveServerSession) => void | Promise<void>);

/** What the server does in a session. When it has come to its end, the connection stays open. */
export type LiveScript = ((session: LiveServerSession) => void | Promise<void>) | readonly LiveStep[];

/** How the server holds a session. */
export interface LiveSessionOptions {
  /** Default: the server's. */
  readonly noise?: boolean | undefined;
  /** Default: the server's. */
  readonly strict?: boolean | undefined;
  /** Whether the client's close frame is answered. Default: `true`. */
  readonly answerClose?: boolean | undefined;
  /** `'stall'` never answers the handshake, an answer refuses it; the script does not run then. Default: the handshake is accepted. */
  readonly handshake?: 'stall' | LiveHandshakeRefusal | undefined;
}

/** A message of a recorded session: `'>'` for the client's, `'<'` for the server's. */
export type LiveRecordedMessage = readonly [direction: '>' | '<', message: Readonly<Record<string, unknown>>];

/**
 * Plays the server's side of a recorded session. In place of each message of the client's it waits for one of that kind; what the client
 * sends besides is kept in the record, and changes nothing. The setup is acknowledged as soon as it has come, wherever that stands in the
 * recording: some were made by a client that did not wait for it.
 */
export function recording(messages: readonly LiveRecordedMessage[]): LiveScript {
  return async (session) => {
    await session.next('setup');
    session.send(messages.find(([from, message]) => from === '<' && message['setupComplete'])?.[1] ?? {setupComplete: {}});
    for (const [from, message] of messages) {
      const {kind} = readBody(message);
      if (from === '<' && !message['setupComplete']) session.send(message);
      if (from === '>' && kind !== 'setup') await session.next(kind === 'unknown' ? undefined : kind);
    }
  };
}

/** What a session without a script gets: the setup is acknowledged, and then there is silence. */
export const acknowledged: LiveScript = (session) => session.acknowledge();

/** Runs a script. Whatever it throws, but for the connection's end, closes the session. */
export async function play(script: LiveScript, session: LiveServerSession, core: LiveCore): Promise<void> {
  try {
    if (typeof script === 'function') await script(session);
    else for (const step of script) await take(step, session);
  } catch (error) {
    if (error instanceof LiveSessionClosedError) return;
    core.scriptError = error;
    session.close(1011, `The script of session ${session.index} threw: ${messageOf(error)}`);
  }
}

async function take(step: LiveStep, session: LiveServerSession): Promise<void> {
  if (typeof step === 'function') await step(session);
  else if (isRecord(step)) session.send(step);
  else await session.next(step);
}
