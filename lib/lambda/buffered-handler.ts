import {HttpProblem} from '../serve/http-problem.ts';
import {checkLambda, Invocation, type FetchHandler, type LambdaContext, type LambdaOptions} from './invocation.ts';
import {resultOf, type LambdaResult} from './lambda-result.ts';

/** What Lambda calls, for an answer as a whole. */
export type LambdaBufferedHandler = (event: unknown, context: LambdaContext) => Promise<LambdaResult>;

/**
 * Makes a handler fit for a function that answers as a whole: behind an HTTP API, a REST API, a load balancer, or a function URL in the mode
 * `BUFFERED`. All of a run is waited for, whatever its format.
 *
 * A run that is not done shortly before the end of the function's time is stopped, its session is stored, and the client gets 504.
 *
 * @throws InvalidOptionError
 * @example
 * ```ts
 * import {LlmAgent} from 'sluice';
 * import {bufferedHandler} from 'sluice/lambda';
 * import {createHandler} from 'sluice/serve';
 *
 * const weather = new LlmAgent({name: 'weather', model: 'gemini-2.5-flash'});
 * export const handler = bufferedHandler(createHandler({agents: {weather}}));
 * ```
 */
export function bufferedHandler(handler: FetchHandler, options: LambdaOptions = {}): LambdaBufferedHandler {
  const {stopBeforeMs} = checkLambda('bufferedHandler', handler, options);
  return async (event, context) => {
    const invocation = new Invocation(handler, stopBeforeMs);
    return invocation.run(event, context, async (response, format) => {
      const result = await resultOf(response, format);
      if (!invocation.outOfTime) return result;
      return resultOf(new HttpProblem(504, 'LAMBDA_DEADLINE', "The function's time was up").toResponse(), format);
    });
  };
}
