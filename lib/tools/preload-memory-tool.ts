import type {Content} from '../content.ts';
import type {MemoryEntry} from '../memory/base-memory-service.ts';
import {appendInstructions} from '../models/llm-request.ts';
import {searchMemory} from './ask-service.ts';
import {BaseTool, type ToolProcessLlmRequest} from './base-tool.ts';
import {memoryText} from './load-memory-tool.ts';
import type {MemoryContext} from './service-context.ts';

/**
 * Tells the model before each of its calls what the user said in earlier sessions that fits the message of this run, from the runner's
 * `memoryService`. The model is not told of the tool and does not call it. Only text is told, thoughts are not.
 *
 * Without a memory service, or a text in the message, it does nothing. A service that throws ends the run with a `HookError`.
 *
 * @example
 * ```ts
 * import {LlmAgent, PRELOAD_MEMORY} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'friend', model: 'gemini-2.5-flash', tools: [PRELOAD_MEMORY]});
 * ```
 */
export class PreloadMemoryTool extends BaseTool {
  constructor() {
    super({name: 'preload_memory', description: 'Tells the model what the user said in earlier conversations.'});
  }

  /** Never called by a run: there is no declaration to call it by. A model that makes such a call up is told so. */
  override async runAsync(): Promise<never> {
    throw new Error('`preload_memory` is no function: what there is to remember stands in the instructions');
  }

  /** Adds what is remembered to the instructions. */
  override async processLlmRequest({toolContext, llmRequest}: ToolProcessLlmRequest): Promise<void> {
    const {appName, userId, memoryService}: MemoryContext = toolContext;
    const query = textOf(toolContext.userContent);
    if (!memoryService || query === '') return;
    const memories = await searchMemory(memoryService, {appName, userId, query});
    const lines = memories.flatMap(linesOf);
    if (lines.length > 0) appendInstructions(llmRequest, [`${PREAMBLE}\n<PAST_CONVERSATIONS>\n${lines.join('\n')}\n</PAST_CONVERSATIONS>`]);
  }
}

/** The {@link PreloadMemoryTool}; one serves all agents. */
export const PRELOAD_MEMORY: PreloadMemoryTool = /* @__PURE__ */ new PreloadMemoryTool();

const PREAMBLE = 'This was said in earlier conversations with the user. Use it where it helps to answer.';

function textOf(message: Content | undefined): string {
  return (message?.parts ?? []).flatMap(({text}) => text ?? []).join(' ');
}

function linesOf(memory: MemoryEntry): string[] {
  const text = memoryText(memory);
  if (text === '') return [];
  const {author, timestamp} = memory;
  return [...(timestamp ? [`Time: ${timestamp}`] : []), author ? `${author}: ${text}` : text];
}
