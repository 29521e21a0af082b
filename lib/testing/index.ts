/**
 * Doubles and servers to test agents with: nothing in here belongs into a running product.
 *
 * @module
 */
export {artifactServiceSuite, type ArtifactServiceCase} from './artifact-service-suite.ts';
export {collect, type Collected} from './collect.ts';
export type {Closed} from './exchange.ts';
export type {LiveClosed} from './gemini-live-server-connection.ts';
export type {LiveClientKind, LiveClientMessage} from './gemini-live-server-inbox.ts';
export type {LiveHandshakeRefusal, LiveRefusal, LiveServerRequest} from './gemini-live-server-request.ts';
export {
  recording,
  type LiveRecordedMessage,
  type LiveScript,
  type LiveSessionOptions,
  type LiveStep,
} from './gemini-live-server-scripts.ts';
export type {LiveServerSession} from './gemini-live-server-session.ts';
export {GeminiLiveServer, type GeminiLiveServerOptions} from './gemini-live-server.ts';
export {
  answer,
  calls,
  chunks,
  failure,
  raw,
  type GeminiChunk,
  type GeminiChunks,
  type GeminiContentOptions,
  type GeminiDelivery,
  type GeminiFailure,
  type GeminiFault,
  type GeminiReply,
  type GeminiReplySource,
} from './gemini-server-replies.ts';
export type {GeminiRequest, GeminiRequestBody} from './gemini-server-request.ts';
export {GeminiServer, type GeminiServerOptions} from './gemini-server.ts';
export {ManualClock, type ManualClockOptions, type PendingTimer} from './manual-clock.ts';
export {memoryServiceSuite, type MemoryServiceCase} from './memory-service-suite.ts';
export {ReplayEngine, type ReplayEngineOptions} from './replay-engine.ts';
export {ScheduleExplorer, type ScheduleExplorerOptions, type ScheduleReport} from './schedule-explorer.ts';
export type {RunMode} from './schedule-explorer/candidates.ts';
export type {Scenario, ScenarioFactory, ScenarioTools} from './schedule-explorer/scenario.ts';
export type {Moment, Schedule, ScheduledStop, StopKind} from './schedule-explorer/schedule.ts';
export {ScheduleError, type ContractClause} from './schedule-explorer/schedule-error.ts';
export {ScriptedLlm, type ScriptedLlmOptions} from './scripted-llm.ts';
export {
  deaf,
  deltas,
  functionCalls,
  hang,
  text,
  type DeafStep,
  type ScriptedCall,
  type ScriptedFunction,
  type ScriptedStep,
} from './scripted-steps.ts';
export {sessionServiceSuite, type SessionServiceCase} from './session-service-suite.ts';
export {ReplayError, ScriptError} from './testing-errors.ts';
export {ToolService, type ToolRequest, type ToolServiceOptions} from './tool-service.ts';
