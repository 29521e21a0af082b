import type {FunctionDeclaration} from '../content.ts';
import {isRecord} from '../schema/is-record.ts';
import type {Parameters} from '../schema/parameters.ts';
import {validateArguments} from '../schema/validate-arguments.ts';
import {BaseTool, type RunAsyncToolRequest} from '../tools/base-tool.ts';
import {callResult} from './call-result.ts';
import type {Progress} from './connection.ts';
import {inputSchemaOf, outputShapeOf} from './listed-schemas.ts';
import type {ListedTool} from './list-tools.ts';
import type {SharedConnection} from './shared-connection.ts';

/** What a server says of a tool's effects. Hints: what they are worth depends on the server. */
export interface MCPToolAnnotations {
  /** It changes nothing. */
  readonly readOnlyHint?: boolean;
  readonly destructiveHint?: boolean;
  /** A second call with the same arguments changes nothing more. */
  readonly idempotentHint?: boolean;
  readonly openWorldHint?: boolean;
}

/** How a toolset makes a tool. */
export interface MCPToolParams {
  /** What the model calls it. */
  readonly name: string;
  readonly listed: ListedTool;
  readonly connection: SharedConnection;
  readonly timeoutMs?: number | undefined;
}

/** How much progress is kept for a reader that is slow. */
const MAX_PROGRESS = 100;

/**
 * A tool of an MCP server. Its toolset makes it. What the server says of a call's progress is shown to the reader as partial Events,
 * `{progress, total?, message?}`.
 */
export class MCPTool extends BaseTool {
  /** Its name on the server, without the toolset's prefix. */
  readonly originalName: string;
  readonly annotations: MCPToolAnnotations;
  readonly #connection: SharedConnection;
  readonly #parameters: Parameters;
  readonly #outputShape: Parameters['shape'];
  readonly #declaration: FunctionDeclaration;

  /** @internal */
  constructor({name, listed, connection, timeoutMs}: MCPToolParams) {
    const {parameters, declaration} = inputSchemaOf(name, listed);
    super({name, description: declaration.description ?? '', timeoutMs});
    this.originalName = listed.name;
    this.annotations = isRecord(listed.annotations) ? listed.annotations : {};
    this.#connection = connection;
    this.#parameters = parameters;
    this.#outputShape = outputShapeOf(name, listed);
    this.#declaration = declaration;
  }

  /** The declaration, always the same frozen object. */
  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override validateArgs(args: unknown): Record<string, unknown> | Promise<Record<string, unknown>> {
    return validateArguments(this.#parameters, args);
  }

  /**
   * Calls it on its server. A stop, or the call's deadline, is told to the server as `notifications/cancelled`, and ends the call at once.
   *
   * Structured content is checked for the types, enums and required properties of the server's `outputSchema`; finer rules, such as patterns
   * and ranges, are not looked at.
   *
   * @throws MCPError, or the SDK's own error for what the server refuses
   */
  override async runAsync({args, toolContext}: RunAsyncToolRequest): Promise<unknown> {
    return this.#run(args, toolContext.abortSignal);
  }

  async *#run(args: Record<string, unknown>, abortSignal: AbortSignal): AsyncGenerator<Progress, unknown> {
    const {readOnlyHint, idempotentHint} = this.annotations;
    const shown: Progress[] = [];
    const state = {isOver: false, wake: (): void => {}};
    const onProgress = (progress: Progress): void => {
      if (shown.push(progress) > MAX_PROGRESS) shown.shift();
      state.wake();
    };
    const end = (): void => {
      state.isOver = true;
      state.wake();
    };
    const isRepeatable = readOnlyHint === true || idempotentHint === true;
    const call = this.#connection.call({name: this.originalName, args, isRepeatable, abortSignal, onProgress});
    call.then(end, end);
    while (!abortSignal.aborted && (shown.length > 0 || !state.isOver)) {
      const next = shown.shift();
      if (next) yield next;
      else await new Promise<void>((resolve) => (state.wake = resolve));
    }
    return callResult(this.name, await call, this.#outputShape);
  }
}
