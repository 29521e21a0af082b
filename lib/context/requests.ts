import type {FunctionCall} from '../content.ts';

/** What the user of an app said to a request for confirmation. A plain object of this form does as well. */
export class ToolConfirmation {
  /** What was to be confirmed, in words. */
  readonly hint?: string | undefined;
  readonly confirmed: boolean;
  /** What goes with it: given by who asked, or changed by who answered. */
  readonly payload?: unknown;

  constructor({hint, confirmed, payload}: ToolConfirmation) {
    this.hint = hint;
    this.confirmed = confirmed;
    this.payload = payload;
  }
}

/** How a call that had asked for something is run again. */
export interface Granted {
  readonly toolConfirmation?: ToolConfirmation | undefined;
  readonly authResponse?: unknown;
}

/** The calls with which a run asks the user of the app. They are never shown to a model. */
export const REQUEST_CONFIRMATION = 'adk_request_confirmation';
export const REQUEST_CREDENTIAL = 'adk_request_credential';
/** The call with which a model asks the user of the app. It is a tool's, and shown to the model as any. */
export const REQUEST_INPUT = 'adk_request_input';

/** The id of the call that such a call asks for. */
export function requestedCallId({args = {}}: FunctionCall): string | undefined {
  const {originalFunctionCall, functionCallId} = args as {originalFunctionCall?: FunctionCall; functionCallId?: string};
  return originalFunctionCall?.id ?? functionCallId;
}

/** Whether a call of this name is between a run and the user of the app. */
export function isUserRequest(name: string | undefined): boolean {
  return name === REQUEST_CONFIRMATION || name === REQUEST_CREDENTIAL;
}
