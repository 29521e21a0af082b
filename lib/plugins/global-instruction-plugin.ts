import {BasePlugin} from '../agents/base-plugin.ts';
import {injectState} from '../agents/llm/instructions.ts';
import type {InstructionProvider} from '../agents/llm/llm-agent-config.ts';
import type {Content, GenerateContentConfig} from '../content.ts';
import type {Context} from '../context/context.ts';
import {expectOption} from '../errors.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import {hasStaticInstruction} from './agent-with-plugins.ts';

/**
 * Puts an instruction ahead of that of every agent, with an empty line between the two.
 *
 * An agent's `staticInstruction` stays what the request begins with, so that it can be cached: the plugin's text, which may change, then stands
 * where the agent's own does, in a content before the user's latest message.
 *
 * @example
 * ```ts
 * import {InMemoryRunner, LlmAgent} from 'sluice';
 * import {GlobalInstructionPlugin} from 'sluice/plugins';
 *
 * const agent = new LlmAgent({name: 'clerk', model: 'gemini-2.5-flash', instruction: 'Answer questions about orders.'});
 * const runner = new InMemoryRunner({agent, plugins: [new GlobalInstructionPlugin('You work for {app:company}. Be brief.')]});
 * ```
 */
export class GlobalInstructionPlugin extends BasePlugin {
  readonly #instruction: string | InstructionProvider;

  /**
   * @param globalInstruction - a text, in which `{key}` and `{artifact.name}` are filled in as in an agent's own instruction, or a function that is
   * called before each request and whose text is used as it is. An empty text adds nothing
   * @param name - default `'global_instruction'`
   * @throws {@link InvalidOptionError} for an instruction that is neither
   */
  constructor(globalInstruction: string | InstructionProvider = '', name: string = 'global_instruction') {
    super(name);
    const fits = typeof globalInstruction === 'string' || typeof globalInstruction === 'function';
    expectOption(fits, 'globalInstruction', 'a string or a function', globalInstruction);
    this.#instruction = globalInstruction;
  }

  /** What an agent's own instruction would fail with is this hook's error. */
  override async beforeModelCallback({callbackContext, llmRequest}: {callbackContext: Context; llmRequest: LlmRequest}): Promise<void> {
    const instruction = this.#instruction;
    const text = await (typeof instruction === 'string' ? injectState(instruction, callbackContext) : instruction(callbackContext));
    expectOption(typeof text === 'string', 'globalInstruction', 'a function that gives a string', text);
    if (text) add(text, llmRequest);
  }
}

function add(text: string, request: LlmRequest): void {
  const {config, contents, liveConnectConfig} = request;
  if (!hasStaticInstruction(request)) config.systemInstruction = inFront(text, config.systemInstruction);
  else if (liveConnectConfig) appendInstructions(request, [text]);
  else {
    // Where the agent's own instruction, and then the user's latest words, begin; the end where something else stands there.
    const at = contents.findLastIndex(({role, parts}) => role !== 'user' || parts?.some((part) => part.functionResponse)) + 1;
    contents.splice(at, 0, {role: 'user', parts: [{text}]});
  }
}

type Instruction = NonNullable<GenerateContentConfig['systemInstruction']>;

function inFront(text: string, present: Instruction | undefined): Instruction {
  if (present === undefined || present === '') return text;
  if (typeof present === 'string') return `${text}\n\n${present}`;
  if (isContent(present)) return {...present, parts: [{text}, ...(present.parts ?? [])]};
  const parts = [present].flat().map((part) => (typeof part === 'string' ? {text: part} : part));
  return {role: 'user', parts: [{text}, ...parts]};
}

function isContent(instruction: object): instruction is Content {
  return !Array.isArray(instruction) && 'parts' in instruction;
}
