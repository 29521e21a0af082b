import type {Tool} from '../content.ts';
import {expectOption} from '../errors.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {BaseTool, type ToolProcessLlmRequest} from './base-tool.ts';

/**
 * A tool that Gemini's own servers run while the model answers: it has no body here and no declaration, it only switches something on in
 * the request. What the server did comes as parts of the reply, which go back to it with the history.
 */
export abstract class BuiltInTool extends BaseTool {
  readonly #tool: Readonly<Tool>;

  /** @param tool - what the request says of it, for example `{googleSearch: {}}` */
  protected constructor(name: string, description: string, tool: Readonly<Tool>) {
    super({name, description});
    this.#tool = tool;
  }

  /** Never called by a run: there is no declaration to call it by. A model that makes such a call up is told so. */
  override async runAsync(): Promise<never> {
    throw new Error(`\`${this.name}\` is no function: it runs by itself while you answer`);
  }

  /**
   * Adds the tool to the request.
   *
   * @throws {@link InvalidOptionError} where the model's server is known to refuse it: the model is no Gemini model, or has functions beside
   * it and is older than Gemini 3. In a live run every model takes both.
   */
  override async processLlmRequest({llmRequest}: ToolProcessLlmRequest): Promise<void> {
    const {model, config} = llmRequest;
    const generation = generationOf(model);
    expectOption(generation >= 2, 'model', `a Gemini model from gemini-2 on, as its server runs \`${this.name}\``, model);
    const functions = functionNames(llmRequest);
    if (functions.length > 0 && !llmRequest.liveConnectConfig) {
      const alone = `only \`${this.name}\` without functions on \`${model}\`, whose server refuses both together; take gemini-3 or later, or an agent of its own for one of them`;
      expectOption(generation >= 3, 'tools', alone, functions.join(', '));
      // Without it the server refuses the request; with it the reply also tells what it did, which it wants to see again.
      config.toolConfig = {...config.toolConfig, includeServerSideToolInvocations: true};
    }
    config.tools = [...(config.tools ?? []), {...this.#tool}];
  }
}

/** Names that say no generation: tuned models and endpoints, aliases such as `gemini-flash-latest`, a model that is not named. */
const UNKNOWN = Infinity;

/** Of which generation of Gemini a model is; 0 where it is none. */
function generationOf(model: string | undefined): number {
  if (model === undefined || /(?:^|\/)(?:endpoints|tunedModels)\//.test(model)) return UNKNOWN;
  const [, generation] = /(?:^|\/)gemini-(?:live-)?(\d+)?/.exec(model) ?? [undefined, '0'];
  return generation === undefined ? UNKNOWN : Number(generation);
}

function functionNames({config}: LlmRequest): string[] {
  const tools = config.tools ?? [];
  const declarations = tools.flatMap((tool) => ('functionDeclarations' in tool ? (tool.functionDeclarations ?? []) : []));
  return declarations.map(({name}) => name ?? '');
}
