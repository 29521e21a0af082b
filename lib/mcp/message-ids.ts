import type {JSONRPCMessage, RequestId} from '@modelcontextprotocol/sdk/types.js';

/** The SDK's `ErrorCode.ConnectionClosed`. Servers use the same number for errors of their own. */
export const CONNECTION_CLOSED = -32_000;
/** Tells an answer that a transport gave in place of the server: the `data` of the error. */
export const NO_ANSWER: object = Object.freeze({});

/** The id of a request; `undefined` for any other message. */
export function requestIdOf(message: JSONRPCMessage): RequestId | undefined {
  return 'method' in message && 'id' in message ? message.id : undefined;
}

/** The id of the request that a message answers; `undefined` for one that answers none. */
export function answeredIdOf(message: JSONRPCMessage): RequestId | undefined {
  return 'method' in message ? undefined : message.id;
}

/** The id of the request that a message takes back; `undefined` for one that takes back none. */
export function cancelledIdOf(message: JSONRPCMessage): RequestId | undefined {
  if (!('method' in message) || message.method !== 'notifications/cancelled') return undefined;
  return (message.params as {requestId?: RequestId} | undefined)?.requestId;
}
