import type {InvocationContext} from '../agents/base-agent.ts';
import type {History} from '../agents/llm/history.ts';
import type {Toolbox} from '../agents/llm/toolbox.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import type {LiveAgent} from './live-agent.ts';
import type {LiveCallsOptions} from './live-calls.ts';
import type {LiveMessage} from './live-memory.ts';
import type {LiveOutbox} from './live-outbox.ts';
import type {LiveRecorder} from './live-recorder.ts';
import type {SharedInput} from './shared-input.ts';

/** What a conversation is held with. */
export interface LiveConversationOptions {
  readonly agent: LiveAgent;
  readonly ctx: InvocationContext;
  readonly input: SharedInput;
  /** Where the first connection goes on. */
  readonly handle: string | undefined;
  /** What the model has to answer before anything else is said to it. */
  readonly asked: LiveMessage | undefined;
  readonly history: History;
  readonly toolbox: Toolbox;
  readonly request: LlmRequest;
  readonly outbox: LiveOutbox;
  readonly ungated: LiveCallsOptions['ungated'];
  readonly transferTool: LiveCallsOptions['transferTool'];
  /** Ends the life that the conversation has, where the answers to calls hand over. */
  readonly handOver: LiveCallsOptions['handOver'];
  readonly recorder: LiveRecorder | undefined;
  readonly onFailure: (error: unknown) => void;
}
