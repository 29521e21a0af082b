import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event, type FunctionResponse} from 'sluice';
import {brief, fact, fit, line, paint, width} from './screen.ts';

const INDENT = 14;
const NAME = 16;

/** Prints what a session holds, and shows that it is valid: each call has exactly one response, in call order. */
export function printSession(events: readonly Event[]): void {
  line(paint('bold', '  The session holds'));
  for (const event of events) {
    const rows = rowsOf(event);
    for (const [at, row] of rows.entries()) {
      const author = at === 0 ? event.author : '';
      line(`  ${paint('green', at === 0 ? '●' : ' ')} ${author.padEnd(10)}${row}`);
    }
  }
  fact('valid', validity(events), 'green');
}

/** @throws Error where a call has no response, two, or one in another place */
function validity(events: readonly Event[]): string {
  const calls = events.flatMap(getFunctionCalls).map(({id}) => id);
  const responses = events.flatMap(getFunctionResponses).map(({id}) => id);
  if (calls.length !== responses.length || calls.some((id, at) => id !== responses[at])) {
    throw new Error(`The session is not valid: calls ${calls.join(', ')}; responses ${responses.join(', ')}`);
  }
  if (calls.length === 0) return 'yes: no call is open';
  return calls.length === 1 ? 'yes: 1 call, 1 response' : `yes: ${calls.length} calls, ${responses.length} responses, in call order`;
}

function rowsOf(event: Event): string[] {
  const calls = getFunctionCalls(event).map(
    ({name = '', args}) => `${name.padEnd(NAME)}${fit(`called with ${brief(args)}`, width - INDENT - NAME)}`,
  );
  const responses = getFunctionResponses(event).map((response) => `${(response.name ?? '').padEnd(NAME)}${fateOf(response)}`);
  const text = textOf(event);
  const fate = event.customMetadata?.['stopped'] ? 'stopped ' : event.interrupted ? 'interrupted ' : '';
  const said = text && `“${fit(text, width - INDENT - fate.length - 2)}”`;
  return [...calls, ...responses, ...(fate || said ? [`${paint('red', fate)}${said}`] : [])];
}

/** What was written or, in a live run, spoken. */
function textOf(event: Event): string {
  return stringifyContent(event) || (event.inputTranscription ?? event.outputTranscription)?.text || '';
}

function fateOf({response}: FunctionResponse): string {
  const error = response?.['error'];
  if (error !== undefined) return paint('red', fit(String(error), width - INDENT - NAME));
  return `${paint('green', 'ready')} ${fit(brief(response), width - INDENT - NAME - 6)}`;
}
