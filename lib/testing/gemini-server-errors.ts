import type {GeminiFailure} from './gemini-server-replies.ts';

/** What Google's servers call a code, and what they say with it. */
const usual: Readonly<Record<number, readonly [status: string, message: string]>> = {
  400: ['INVALID_ARGUMENT', 'Request contains an invalid argument.'],
  401: ['UNAUTHENTICATED', 'Request had invalid authentication credentials.'],
  403: ['PERMISSION_DENIED', 'The caller does not have permission'],
  404: ['NOT_FOUND', 'Requested entity was not found.'],
  429: ['RESOURCE_EXHAUSTED', 'Resource has been exhausted (e.g. check quota).'],
  499: ['CANCELLED', 'The operation was cancelled.'],
  500: [
    'INTERNAL',
    'An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting',
  ],
  503: ['UNAVAILABLE', 'The model is overloaded. Please try again later.'],
  504: ['DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'],
};

/** The body of an error. */
export function errorBody({code, status, message, details = [], retryDelay}: GeminiFailure): object {
  const [usualStatus, usualMessage] = usual[code] ?? ['UNKNOWN', 'Unknown error.'];
  const retryInfo = retryDelay === undefined ? [] : [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay}];
  const all = [...details, ...retryInfo];
  const error = {code, message: message ?? usualMessage, status: status ?? usualStatus};
  return {error: all.length > 0 ? {...error, details: all} : error};
}
