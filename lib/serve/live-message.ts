import type {LiveRequestQueue} from '../agents/live-request-queue.ts';
import {LiveRequestQueueError, messageOf} from '../errors.ts';
import {fieldsOf, toCamelCase} from './camel-case.ts';
import {parseJson} from './request-json.ts';

/** A message of a client that cannot be used: why, and with which code its socket is closed. */
export class LiveMessageError extends Error {
  readonly closeCode: number;

  constructor(closeCode: number, message: string, options?: ErrorOptions) {
    super(message, options);
    this.closeCode = closeCode;
  }
}

/**
 * Passes a client's message on to its run: ADK's `LiveRequest` in JSON, with any of `content`, `blob`, `activityStart`, `activityEnd` and
 * `close`, in camelCase or snake_case.
 *
 * @param data - as the socket gave it
 * @throws {@link LiveMessageError}; what stands in the message before the part that is refused may have been passed on
 */
export function passOn(data: unknown, queue: LiveRequestQueue, maxBytes: number): void {
  if (typeof data !== 'string')
    throw new LiveMessageError(1003, 'Expected text messages, got a binary one: send sound as base64 in `blob`');
  if (data.length > maxBytes) throw new LiveMessageError(1009, `Expected messages of at most ${maxBytes} bytes`);
  const {content, blob, activityStart, activityEnd, close} = readRequest(data);
  if (!content && !blob && !activityStart && !activityEnd && !close) {
    throw new LiveMessageError(1007, 'Expected a message with content, blob, activityStart, activityEnd or close');
  }
  try {
    // No client is told to wait: the queue's own bound holds.
    if (activityStart) void queue.sendActivityStart();
    if (blob) void queue.sendRealtime(blob);
    if (content) void queue.sendContent(content);
    if (activityEnd) void queue.sendActivityEnd();
    if (close) queue.close();
  } catch (error) {
    const isFull = error instanceof LiveRequestQueueError && error.code === 'LIVE_QUEUE_FULL';
    throw new LiveMessageError(isFull ? 1008 : 1007, messageOf(error), {cause: error});
  }
}

function readRequest(data: string): Readonly<Record<string, unknown>> {
  try {
    const {content, blob, ...signals} = fieldsOf(parseJson(data, 'the message'), FIELDS);
    return {...signals, content: toCamelCase(content), blob: toCamelCase(blob)};
  } catch (error) {
    throw new LiveMessageError(1007, messageOf(error), {cause: error});
  }
}

const FIELDS = ['content', 'blob', 'activityStart', 'activityEnd', 'close'] as const;
