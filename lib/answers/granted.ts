import type {FunctionCall} from '../content.ts';
import {REQUEST_CONFIRMATION, type Granted} from '../context/requests.ts';
import {confirmationOf} from './confirmation.ts';
import type {LedgerCall} from './ledger.ts';

/**
 * What the user of the app has granted a call, over all that it has asked for: what was granted in earlier runs adds up. Nothing as long as
 * a question is open, unless the call was refused.
 */
export function grantOf({requests}: LedgerCall): Granted | undefined {
  let granted: Granted | undefined;
  for (const {call, answer} of requests) {
    if (!answer) continue;
    const {response} = answer.response;
    granted = {
      ...granted,
      ...(call.name === REQUEST_CONFIRMATION ? {toolConfirmation: confirmationOf(response)} : {authResponse: response}),
    };
  }
  const isRefused = granted?.toolConfirmation?.confirmed === false;
  return isRefused || requests.every(({answer}) => answer) ? granted : undefined;
}

/** The call as the user of the app was shown it: that is what runs, whatever has become of the Event that it stands in. */
export function confirmedCall({call, requests}: LedgerCall): FunctionCall {
  const confirmed = requests.findLast((request) => request.answer && request.call.name === REQUEST_CONFIRMATION);
  const {originalFunctionCall} = (confirmed?.call.args ?? {}) as {originalFunctionCall?: FunctionCall};
  return originalFunctionCall ? {...call, args: originalFunctionCall.args ?? {}} : call;
}
