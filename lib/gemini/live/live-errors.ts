import {messageOf, ModelError} from '../../errors.ts';
import type {Redact} from './live-trace.ts';

const codes: Readonly<Record<number, string>> = {
  1006: 'CONNECTION_LOST',
  1007: 'INVALID_ARGUMENT',
  1008: 'POLICY_VIOLATION',
  1011: 'INTERNAL',
};

/** Close codes after which a new connection may work. */
const passing = new Set([1000, 1001, 1005, 1006, 1011, 1012, 1013, 1014]);

// A server closes with 1011 for what another try does not cure, too.
const spent = /used too many times|quota|billing|exhausted|credit/i;

/** What a closed socket stands for. `established`: the server had taken the setup. */
export function closeError(closeCode: number, reason: string, established: boolean): ModelError {
  const when = established ? '' : ' before it took the setup';
  const silent =
    closeCode === 1006 ? `The connection to the server was lost${when}` : `The server closed the connection${when} (${closeCode})`;
  // What the server says to a setup it will say again.
  const retryable = passing.has(closeCode) && !spent.test(reason) && (established || closeCode !== 1011);
  return new ModelError(reason.trim() || silent, {code: codes[closeCode] ?? `CLOSED_${closeCode}`, closeCode, retryable});
}

/** What ws told as an error: of the network, or of a server that does not speak the protocol. */
export function socketError(error: Error, redact: Redact): ModelError {
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const words = redact(wordsOf(error));
  const why = words.includes(code) ? words : `${code}: ${words}`;
  // ws and Node's HTTP parser name their own errors `WS_ERR_...` and `HPE_...`, or not at all; certificates have names of their own.
  if (code === '' || /^(WS_ERR|HPE)_/.test(code))
    return new ModelError(`The server's answer could not be read: ${why}`, {code: 'PROTOCOL_ERROR', cause: error});
  return new ModelError(`The connection to the server was lost (${why})`, {
    code: 'CONNECTION_LOST',
    retryable: /^E(?!RR_|PROTO)/.test(code),
    cause: error,
  });
}

/** A message that is no message of the protocol. */
export function unreadable(text: string, redact: Redact): ModelError {
  const start = JSON.stringify(redact(text).slice(0, 200));
  // Without the parser's error as cause: its words hold a piece of the text as it came.
  return new ModelError(`Expected each message of the server to be a JSON object, got ${start}`, {code: 'PROTOCOL_ERROR'});
}

/** What a send is told when the connection is over. `why`: where it did not end by `close()`. */
export function closedError(why: ModelError | undefined): ModelError {
  const message = why === undefined ? 'The live connection is closed' : `The live connection is closed: ${why.message}`;
  return new ModelError(message, {
    code: 'CONNECTION_CLOSED',
    closeCode: why?.closeCode,
    retryable: why?.retryable,
    ...(why !== undefined && {cause: why}),
  });
}

/** A host with several addresses gives an error for each, and none for all. */
function wordsOf(error: Error): string {
  const inner: unknown = error instanceof AggregateError ? error.errors[0] : undefined;
  return messageOf(inner ?? error);
}
