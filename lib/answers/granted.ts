import type {FunctionCall} from '../content.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, type Granted} from '../context/requests.ts';
import {confirmationOf} from './confirmation.ts';
import type {LedgerCall} from './ledger.ts';

/**
 * What the user of the app has granted a call, over all that it has asked for: what was granted in earlier runs adds up. Nothing as long as
 * a question is open, unless the call was refused.
 */
export function grantOf({requests}: LedgerCall): Granted | undefined {
  const answered = requests.flatMap(({call, answer}) => (answer ? [{name: call.name, response: answer.response.response}] : []));
  if (answered.length === 0) return undefined;
  const confirmation = answered.findLast(({name}) => name === REQUEST_CONFIRMATION);
  const credential = answered.findLast(({name}) => name === REQUEST_CREDENTIAL);
  const toolConfirmation = confirmation && confirmationOf(confirmation.response);
  if (answered.length < requests.length && toolConfirmation?.confirmed !== false) return undefined;
  return {toolConfirmation, authResponse: credential?.response};
}

/** Whether a call has what it had asked for, or was refused, and has not run since: nothing but its run brings it to an end. */
export function isToRun(call: LedgerCall): boolean {
  return !call.answer?.isFinal && call.answer?.asks !== false && grantOf(call) !== undefined;
}

/** The call as the user of the app was shown it: that is what runs, whatever has become of the Event that it stands in. */
export function confirmedCall({call, requests}: LedgerCall): FunctionCall {
  const confirmed = requests.findLast((request) => request.answer && request.call.name === REQUEST_CONFIRMATION);
  const {originalFunctionCall} = (confirmed?.call.args ?? {}) as {originalFunctionCall?: FunctionCall};
  return originalFunctionCall ? {...call, args: originalFunctionCall.args ?? {}} : call;
}
