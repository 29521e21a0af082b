import {expectOption} from '../errors.ts';
import type {MemoryEntry} from '../memory/base-memory-service.ts';
import {appendInstructions} from '../models/llm-request.ts';
import {searchMemory} from './ask-service.ts';
import type {ToolProcessLlmRequest} from './base-tool.ts';
import {FunctionTool} from './function-tool.ts';
import type {MemoryContext} from './service-context.ts';

const QUERY = {
  type: 'object',
  properties: {query: {type: 'string', description: 'What to look for, in plain words.'}},
  required: ['query'],
} as const;

/** A memory as the model is told of it. */
interface RecalledMemory {
  readonly content: string;
  readonly author?: string | undefined;
  readonly timestamp?: string | undefined;
}

/**
 * Lets the model look up what the user said in earlier sessions, in the runner's `memoryService`. Only text is told, thoughts are not.
 * Without a memory service a call is answered by an error.
 *
 * @example
 * ```ts
 * import {LlmAgent, LOAD_MEMORY} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'friend', model: 'gemini-2.5-flash', tools: [LOAD_MEMORY]});
 * ```
 */
export class LoadMemoryTool extends FunctionTool<typeof QUERY> {
  constructor() {
    super({
      name: 'load_memory',
      description: 'Finds what the user said in earlier conversations.',
      parameters: QUERY,
      execute: ({query}, context) => recall(String(query), context),
    });
  }

  /** Tells the model that there is something to look up. */
  override async processLlmRequest({toolContext, llmRequest}: ToolProcessLlmRequest): Promise<void> {
    const {memoryService}: MemoryContext = toolContext;
    if (memoryService) appendInstructions(llmRequest, [INSTRUCTION]);
  }
}

/** The {@link LoadMemoryTool}; one serves all agents. */
export const LOAD_MEMORY: LoadMemoryTool = /* @__PURE__ */ new LoadMemoryTool();

const INSTRUCTION =
  'You remember earlier conversations with the user. Where a question is about something that this one does not tell, call `load_memory` with a query first.';

async function recall(query: string, context: MemoryContext): Promise<{memories: RecalledMemory[]}> {
  const {appName, userId, memoryService} = context;
  expectOption(memoryService !== undefined, 'memoryService', 'a BaseMemoryService of the runner, to load from', memoryService);
  const memories = await searchMemory(memoryService, {appName, userId, query});
  return {memories: memories.map((memory) => ({content: memoryText(memory), author: memory.author, timestamp: memory.timestamp}))};
}

/** What was said in a memory, without thoughts. */
export function memoryText({content}: MemoryEntry): string {
  return (content.parts ?? []).flatMap(({text, thought}) => (text && !thought ? text : [])).join(' ');
}
