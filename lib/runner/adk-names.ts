import {AgentTool} from '../agents/agent-tool.ts';
import {BaseAgent} from '../agents/base-agent.ts';
import type {AgentCallback} from '../agents/agent-hook.ts';
import type {Callbacks} from '../agents/callbacks.ts';
import {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {AfterModelCallback, AfterToolCallback, BeforeModelCallback, BeforeToolCallback} from '../agents/llm/llm-agent-config.ts';
import {LoopAgent} from '../agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../agents/workflow/sequential-agent.ts';
import type {Context} from '../context/context.ts';
import {REQUEST_CONFIRMATION, REQUEST_CREDENTIAL, REQUEST_INPUT} from '../context/requests.ts';
import {BaseLlm} from '../models/base-llm.ts';
import type {ParametersSchema} from '../schema/parameters.ts';
import type {SessionKey} from '../sessions/session.ts';
import {BaseTool} from '../tools/base-tool.ts';
import {BaseToolset, type ToolFilter} from '../tools/base-toolset.ts';
import {FunctionTool, type FunctionToolOptions} from '../tools/function-tool.ts';
import {Runner} from './runner.ts';

/** ADK's other name for {@link LlmAgent}. */
export const Agent: typeof LlmAgent = LlmAgent;
/** ADK's other name for {@link LlmAgent}. */
export type Agent<T = unknown> = LlmAgent<T>;

/** The name of the call with which a run asks the user for a word; the answer is a function response of that name and id. */
export const REQUEST_CONFIRMATION_FUNCTION_CALL_NAME: string = REQUEST_CONFIRMATION;
/** The name of the call with which a run asks the user for a credential. */
export const REQUEST_CREDENTIAL_FUNCTION_CALL_NAME: string = REQUEST_CREDENTIAL;
/** The name of the call with which a model asks the user for input; see {@link requestInputTool}. */
export const REQUEST_INPUT_FUNCTION_CALL_NAME: string = REQUEST_INPUT;

/** Whether a value is an agent of any kind. */
export const isBaseAgent = (value: unknown): value is BaseAgent => value instanceof BaseAgent;
/** Whether a value is an `LlmAgent`. */
export const isLlmAgent = (value: unknown): value is LlmAgent => value instanceof LlmAgent;
/** Whether a value is a `SequentialAgent`. */
export const isSequentialAgent = (value: unknown): value is SequentialAgent => value instanceof SequentialAgent;
/** Whether a value is a `ParallelAgent`. */
export const isParallelAgent = (value: unknown): value is ParallelAgent => value instanceof ParallelAgent;
/** Whether a value is a `LoopAgent`. */
export const isLoopAgent = (value: unknown): value is LoopAgent => value instanceof LoopAgent;
/** Whether a value is a tool of any kind. */
export const isBaseTool = (value: unknown): value is BaseTool => value instanceof BaseTool;
/** Whether a value is a `FunctionTool`. */
export const isFunctionTool = (value: unknown): value is FunctionTool => value instanceof FunctionTool;
/** Whether a value is an `AgentTool`. */
export const isAgentTool = (value: unknown): value is AgentTool => value instanceof AgentTool;
/** Whether a value is a toolset. */
export const isBaseToolset = (value: unknown): value is BaseToolset => value instanceof BaseToolset;
/** Whether a value is a model. */
export const isBaseLlm = (value: unknown): value is BaseLlm => value instanceof BaseLlm;
/** Whether a value is a `Runner`. */
export const isRunner = (value: unknown): value is Runner => value instanceof Runner;

/** ADK's name for the context of what only reads, such as an instruction. */
export type ReadonlyContext = Context;
/** ADK's name for one callback around an agent. */
export type SingleAgentCallback = AgentCallback;
/** ADK's name for `beforeAgentCallback`: one callback, or a list. */
export type BeforeAgentCallback = Callbacks<AgentCallback>;
/** ADK's name for `afterAgentCallback`: one callback, or a list. */
export type AfterAgentCallback = Callbacks<AgentCallback>;
/** ADK's name for a {@link BeforeModelCallback}. */
export type SingleBeforeModelCallback = BeforeModelCallback;
/** ADK's name for an {@link AfterModelCallback}. */
export type SingleAfterModelCallback = AfterModelCallback;
/** ADK's name for a {@link BeforeToolCallback}. */
export type SingleBeforeToolCallback = BeforeToolCallback;
/** ADK's name for an {@link AfterToolCallback}. */
export type SingleAfterToolCallback = AfterToolCallback;
/** ADK's name for what `tools` of an agent holds. */
export type ToolUnion = BaseTool | BaseToolset;
/** ADK's name for {@link FunctionToolOptions}. */
export type ToolOptions<TSchema extends ParametersSchema | undefined = undefined> = FunctionToolOptions<TSchema>;
/** ADK's name for what `parameters` of a tool takes. */
export type ToolInputParameters = ParametersSchema | undefined;
/** ADK's name for a {@link ToolFilter} that is a function. */
export type ToolPredicate = Exclude<ToolFilter, readonly string[]>;
/** ADK's name for what names a session. */
export type CompositeSessionKey = SessionKey;
/** ADK's name for the request to delete a session. */
export type DeleteSessionRequest = SessionKey;
