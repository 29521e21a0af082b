/**
 * Agents behind HTTP, on web standards: on any host that has `Request` and `Response`.
 *
 * @module
 */
export type {AccessDecision, AccessRequest, Authorize, UserAccess} from './access.ts';
export {createHandler} from './create-handler.ts';
export type {HandlerOptions} from './handler-options.ts';
export type {Handler, Host, ServerSocket, Upgrade} from './handler.ts';
export {readChatRequest, type ChatRequest} from './stream/chat-request.ts';
export {clientError, type ClientError} from './stream/client-error.ts';
export {EventGoneError} from './stream/feed-reader.ts';
export {RunFeed, type FeedResponseOptions, type RunFeedOptions} from './stream/run-feed.ts';
export type {StreamFormat} from './stream/stream-format.ts';
export {startResponse, toResponse, type StartResponseOptions, type StreamOptions, type ToResponseOptions} from './stream/to-response.ts';
export type {UIMessageMetadata, WaitingCall} from './stream/ui-message-chunk.ts';
