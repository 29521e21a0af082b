import type {FunctionDeclaration} from '../content.ts';
import {appendInstructions, type LlmRequest} from '../models/llm-request.ts';
import type {Parameters} from '../schema/parameters.ts';
import {validateArguments, type Validated} from '../schema/validate-arguments.ts';
import {BaseTool, type RunAsyncToolRequest} from '../tools/base-tool.ts';

/** The tool that takes the output of an agent which has other tools: a backend takes a schema for text or tools, not both. */
export const OUTPUT_TOOL = 'set_model_response';

/** The form that an agent's `outputSchema` gives to its output, worked out once. */
export class OutputFormat {
  readonly tools: readonly BaseTool[];
  readonly #parameters: Parameters;

  constructor(parameters: Parameters, hasTools: boolean) {
    this.#parameters = parameters;
    this.tools = hasTools ? [new SetModelResponseTool(this)] : [];
  }

  get declaration(): Parameters['declaration'] {
    return this.#parameters.declaration;
  }

  /** Asks for output of this form. */
  shape(request: LlmRequest): void {
    if (this.tools.length > 0) {
      appendInstructions(request, [`Give your final answer by calling ${OUTPUT_TOOL}, once, and not as text.`]);
      return;
    }
    const {parameters, parametersJsonSchema} = this.declaration;
    request.config.responseMimeType = 'application/json';
    if (parameters) request.config.responseSchema = parameters;
    else request.config.responseJsonSchema = parametersJsonSchema;
  }

  /** @throws {@link InvalidArgumentsError} for output of another form */
  validate(output: unknown): Validated {
    return validateArguments(this.#parameters, output);
  }
}

class SetModelResponseTool extends BaseTool {
  readonly #format: OutputFormat;
  readonly #declaration: FunctionDeclaration;

  constructor(format: OutputFormat) {
    const description = 'Takes your final answer, in the form that is asked for.';
    super({name: OUTPUT_TOOL, description});
    this.#format = format;
    this.#declaration = Object.freeze({name: OUTPUT_TOOL, description, ...format.declaration});
  }

  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override validateArgs(args: unknown): Validated {
    return this.#format.validate(args);
  }

  override async runAsync({args}: RunAsyncToolRequest): Promise<unknown> {
    return args;
  }
}
