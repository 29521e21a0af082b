/**
 * Sluice: an agent runtime that you can stop.
 *
 * Start reading at `runner/runner.ts` (one run, from the user's message to the last Event), then `agents/llm/llm-agent.ts` (the loop),
 * `agents/llm/call-model.ts` and `agents/llm/call-tools.ts` (its two steps). How a run ends is `runner/run.ts` and `runner/run-life.ts`.
 */
export {AgentTool, type AgentToolConfig} from './agents/agent-tool.ts';
export type {AgentCallback} from './agents/agent-hook.ts';
export {BaseAgent, InvocationContext, type BaseAgentConfig} from './agents/base-agent.ts';
export {BasePlugin, type PluginToolCall} from './agents/base-plugin.ts';
export type {Callbacks} from './agents/callbacks.ts';
export type {Diagnostic} from './agents/diagnostic.ts';
export {LiveRequestQueue, type LiveRequest, type LiveRequestQueueOptions} from './agents/live-request-queue.ts';
export {LlmAgent} from './agents/llm/llm-agent.ts';
export type {
  AfterModelCallback,
  AfterToolCallback,
  BeforeModelCallback,
  BeforeToolCallback,
  InstructionProvider,
  LlmAgentConfig,
  OnModelErrorCallback,
  OnToolErrorCallback,
} from './agents/llm/llm-agent-config.ts';
export {StreamingMode, ToolExecutionMode, type LiveRunConfig, type ResolvedRunConfig, type RunConfig} from './agents/run-config.ts';
export {LoopAgent, type LoopAgentConfig} from './agents/workflow/loop-agent.ts';
export {ParallelAgent, type ParallelAgentConfig} from './agents/workflow/parallel-agent.ts';
export {SequentialAgent} from './agents/workflow/sequential-agent.ts';
export {
  BaseArtifactService,
  type ArtifactScope,
  type DeleteArtifactRequest,
  type ListArtifactKeysRequest,
  type ListVersionsRequest,
  type LoadArtifactRequest,
  type SaveArtifactRequest,
} from './artifacts/base-artifact-service.ts';
export {InMemoryArtifactService} from './artifacts/in-memory-artifact-service.ts';
export type {
  Content,
  FunctionCall,
  FunctionDeclaration,
  FunctionResponse,
  GenerateContentConfig,
  Part,
  Schema,
  Transcription,
  UsageMetadata,
} from './content.ts';
export {Context, type CallbackContext, type ToolContext} from './context/context.ts';
export {
  getPendingUserInputRequests,
  getUserInputRequests,
  requiresUserInput,
  type UserInputKind,
  type UserInputRequest,
} from './answers/user-input-requests.ts';
export {
  ContextRevokedError,
  FunctionResponseError,
  HookError,
  InvalidOptionError,
  LiveOverflowError,
  LiveRequestQueueError,
  LlmCallsLimitExceededError,
  ModelError,
  RunCancelledError,
  RunnerClosedError,
  RunTimeoutError,
  SessionBusyError,
  SessionConflictError,
  SessionExistsError,
  SessionNotFoundError,
  SluiceError,
  ToolTimeoutError,
  type ModelErrorDetails,
} from './errors.ts';
export {ToolConfirmation} from './context/requests.ts';
export {createEventActions, mergeEventActions, type EventActions} from './events/event-actions.ts';
export type {LiveSignals} from './events/live-signals.ts';
export {
  createEvent,
  getFunctionCalls,
  getFunctionResponses,
  isFinalResponse,
  stringifyContent,
  type CreateEventParams,
  type Event,
} from './events/event.ts';
export {BaseMemoryService, type MemoryEntry, type SearchMemoryRequest, type SearchMemoryResponse} from './memory/base-memory-service.ts';
export {InMemoryMemoryService, type InMemoryMemoryServiceOptions} from './memory/in-memory-memory-service.ts';
export {BaseLlmConnection, type RealtimeInput} from './models/base-llm-connection.ts';
export {BaseLlm} from './models/base-llm.ts';
export {LLMRegistry} from './models/llm-registry.ts';
export {appendFunctionDeclarations, appendInstructions, type LlmRequest} from './models/llm-request.ts';
export type {LlmResponse} from './models/llm-response.ts';
export {
  Agent,
  REQUEST_CONFIRMATION_FUNCTION_CALL_NAME,
  REQUEST_CREDENTIAL_FUNCTION_CALL_NAME,
  REQUEST_INPUT_FUNCTION_CALL_NAME,
  isAgentTool,
  isBaseAgent,
  isBaseLlm,
  isBaseTool,
  isBaseToolset,
  isFunctionTool,
  isLlmAgent,
  isLoopAgent,
  isParallelAgent,
  isRunner,
  isSequentialAgent,
  type AfterAgentCallback,
  type BeforeAgentCallback,
  type CompositeSessionKey,
  type DeleteSessionRequest,
  type ReadonlyContext,
  type SingleAfterModelCallback,
  type SingleAfterToolCallback,
  type SingleAgentCallback,
  type SingleBeforeModelCallback,
  type SingleBeforeToolCallback,
  type ToolInputParameters,
  type ToolOptions,
  type ToolPredicate,
  type ToolUnion,
} from './runner/adk-names.ts';
export {InMemoryRunner} from './runner/in-memory-runner.ts';
export type {LiveRunRequest} from './runner/live-run-request.ts';
export {Run} from './runner/run.ts';
export type {RewindRequest} from './runner/rewind.ts';
export type {RunKind, RunOutcome} from './runner/run-outcome.ts';
export type {EphemeralRunRequest, RunRequest, RunSelector} from './runner/run-request.ts';
export {RunIncompleteError, type RunResult} from './runner/run-result.ts';
export {Runner} from './runner/runner.ts';
export type {RunnerConfig} from './runner/runner-config.ts';
export type {ParametersSchema} from './schema/parameters.ts';
export {InvalidArgumentsError} from './schema/invalid-arguments-error.ts';
export {
  BaseSessionService,
  recordEvent,
  type AppendEventRequest,
  type CreateSessionRequest,
  type GetSessionConfig,
  type GetSessionRequest,
  type ListSessionsRequest,
  type ListSessionsResponse,
} from './sessions/base-session-service.ts';
export {InMemorySessionService} from './sessions/in-memory-session-service.ts';
export type {Session, SessionKey} from './sessions/session.ts';
export {State, type StateTypes} from './sessions/state.ts';
export type {StepEngine, Steps} from './steps/steps.ts';
export {
  BaseTool,
  type BaseToolParams,
  type ResponseScheduling,
  type RequireConfirmation,
  type RunAsyncToolRequest,
  type ToolProcessLlmRequest,
} from './tools/base-tool.ts';
export {BaseToolset, type ToolFilter} from './tools/base-toolset.ts';
export {BuiltInCodeExecutor} from './tools/built-in-code-executor.ts';
export {BuiltInTool} from './tools/built-in-tool.ts';
export {EXIT_LOOP, ExitLoopTool} from './tools/exit-loop-tool.ts';
export {FunctionTool, type FunctionToolOptions} from './tools/function-tool.ts';
export {LongRunningFunctionTool} from './tools/long-running-function-tool.ts';
export type {ToolExecutor, ToolWorker, WorkerCall} from './tools/tool-executor.ts';
export {getUserChoiceTool} from './tools/get-user-choice-tool.ts';
export {GOOGLE_SEARCH, GoogleSearchTool} from './tools/google-search-tool.ts';
export {LOAD_ARTIFACTS, LoadArtifactsTool} from './tools/load-artifacts-tool.ts';
export {LOAD_MEMORY, LoadMemoryTool} from './tools/load-memory-tool.ts';
export {PRELOAD_MEMORY, PreloadMemoryTool} from './tools/preload-memory-tool.ts';
export {requestInputTool} from './tools/request-input-tool.ts';
export {URL_CONTEXT, UrlContextTool} from './tools/url-context-tool.ts';
