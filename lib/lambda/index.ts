/** Serves a handler on AWS Lambda: streamed, or as a whole. */
export {bufferedHandler, type LambdaBufferedHandler} from './buffered-handler.ts';
export {LambdaDeadlineError, type FetchHandler, type LambdaContext, type LambdaOptions} from './invocation.ts';
export type {LambdaResult} from './lambda-result.ts';
export {streamHandler, type LambdaStreamHandler} from './stream-handler.ts';
