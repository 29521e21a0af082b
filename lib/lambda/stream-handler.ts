import type {Writable} from 'node:stream';
import {InvalidOptionError} from '../errors.ts';
import {checkLambda, Invocation, type FetchHandler, type LambdaContext, type LambdaOptions} from './invocation.ts';
import {metadataOf} from './lambda-result.ts';

/** What Lambda calls, for an answer that is streamed: what `awslambda.streamifyResponse` makes. */
export type LambdaStreamHandler = (event: unknown, responseStream: Writable, context: LambdaContext) => Promise<void>;

/** The global that Lambda's Node runtimes have. */
interface AwsLambda {
  streamifyResponse(handler: LambdaStreamHandler): LambdaStreamHandler;
  readonly HttpResponseStream: {from(stream: Writable, metadata: object): Writable};
}

/**
 * Makes a handler fit for a function that streams its answer: behind a function URL in the mode `RESPONSE_STREAM`, or a REST API whose
 * integration has the response transfer mode `STREAM`. To be called in Lambda, where the global `awslambda` is.
 *
 * A run that is not done shortly before the end of the function's time is stopped and its session is stored; the invocation fails then with
 * `LambdaDeadlineError`, so that the client sees a stream that breaks and the log says why. Lambda does not tell a function that its client
 * has left: the run goes on to its end. Nothing goes on after the invocation: what the handler asked its host to wait for is waited for.
 *
 * @throws InvalidOptionError, also where there is no `awslambda`
 * @example
 * ```ts
 * import {LlmAgent} from 'sluice';
 * import {streamHandler} from 'sluice/lambda';
 * import {createHandler} from 'sluice/serve';
 *
 * const weather = new LlmAgent({name: 'weather', model: 'gemini-2.5-flash'});
 * export const handler = streamHandler(createHandler({agents: {weather}}));
 * ```
 */
export function streamHandler(handler: FetchHandler, options: LambdaOptions = {}): LambdaStreamHandler {
  const {stopBeforeMs} = checkLambda('streamHandler', handler, options);
  const {awslambda} = globalThis as {awslambda?: AwsLambda};
  if (!awslambda)
    throw new InvalidOptionError('awslambda', "the global of Lambda's Node runtime, where streamHandler is called", awslambda);
  return awslambda.streamifyResponse(async (event, responseStream, context) => {
    const invocation = new Invocation(handler, stopBeforeMs);
    await invocation.run(event, context, async (response) => {
      const output = awslambda.HttpResponseStream.from(responseStream, metadataOf(response));
      await send(response, output, invocation);
    });
    if (invocation.outOfTime) throw invocation.signal.reason;
  });
}

async function send({body}: Response, output: Writable, invocation: Invocation): Promise<void> {
  const reader = body?.getReader();
  const onAbort = (): void => void reader?.cancel(invocation.signal.reason).catch(() => {});
  const onGone = (): void => {
    if (!output.writableFinished) invocation.leave();
  };
  invocation.signal.addEventListener('abort', onAbort, {once: true});
  output.on('close', onGone).on('error', onGone);
  if (invocation.signal.aborted) onAbort();
  try {
    // The first write is what sends the status and the headers, also where there is no body.
    output.write('');
    for (let more = true; more && !invocation.signal.aborted;) {
      const {done = true, value} = (await reader?.read()) ?? {};
      if (done || invocation.signal.aborted) more = false;
      else if (!output.write(value)) await ready(output, 'drain', invocation.signal);
    }
    // An end would tell the client that this was all.
    if (invocation.signal.aborted) return;
    output.end();
    await ready(output, 'finish', invocation.signal);
  } finally {
    output.off('close', onGone);
    invocation.signal.removeEventListener('abort', onAbort);
  }
}

/** Waits for an event of the output, but not when nobody takes it any more. */
function ready(output: Writable, event: 'drain' | 'finish', signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const settle = (): void => {
      output.off(event, settle);
      signal.removeEventListener('abort', settle);
      resolve();
    };
    if (signal.aborted || (event === 'finish' && output.writableFinished)) return resolve();
    output.once(event, settle);
    signal.addEventListener('abort', settle, {once: true});
  });
}
