import type {LlmAgentSettings} from '../agents/llm/llm-agent-config.ts';

/** What a live run needs of an agent. */
export interface LiveAgent extends LlmAgentSettings {
  readonly includeContents: 'default' | 'none';
  readonly outputKey: string | undefined;
}
