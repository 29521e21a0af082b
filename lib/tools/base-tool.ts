import type {FunctionDeclaration} from '../content.ts';
import type {Context} from '../context/context.ts';
import {expectOption} from '../errors.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {anyOf, checkValues, isBoolean, isFunction, isOneOf, isPositiveMs, isString, optional, type OptionSpec} from '../schema/options.ts';
import type {ToolWorker} from './tool-executor.ts';
import {validateArguments} from '../schema/validate-arguments.ts';

/** What every tool is made of. */
export interface BaseToolParams {
  /** What the model calls it: a letter or `_`, then letters, digits, `_`, `.`, `:` or `-`; at most 128 characters. */
  readonly name: string;
  /** Tells the model when and how to use it. */
  readonly description: string;
  /** `true`: the first result is provisional, the final one comes with a later run. Default `false`. */
  readonly isLongRunning?: boolean | undefined;
  /** How long one call may take, in milliseconds, from the start of its body. Default 120,000; `Infinity` turns it off. */
  readonly timeoutMs?: number | undefined;
  /** `true`: in a batch of calls, all before it end, it runs alone, then the rest. Default `false`. */
  readonly exclusive?: boolean | undefined;
  /**
   * For live runs: the model goes on while the tool runs, and this says what it does with the answer. Without it the model waits. What a
   * generator body yields is then told to the model too, not only to the reader.
   */
  readonly responseScheduling?: ResponseScheduling | undefined;
  /** Whether the user of the app is asked before a call runs; a function decides for each call, see {@link RequireConfirmation}. Default `false`. */
  readonly requireConfirmation?: RequireConfirmation | undefined;
}

/**
 * Whether a call has to be confirmed. A function gets the checked arguments. Nothing but `false` from it lets a call run unasked: where it
 * gives anything else, such as `undefined` for a `return` that was forgotten, the user is asked, and where it throws, the call fails.
 *
 * The user is shown the arguments that the model gave, and those are what runs. A `beforeToolCallback` is called ahead of the question, and
 * again ahead of the body; what it changes in them is the program's own, and not shown.
 */
export type RequireConfirmation = boolean | ((args: never, context: Context) => boolean | Promise<boolean>);

/** What a live model does with an answer that it did not wait for: takes note, tells it when it is idle, or interrupts itself for it. */
export type ResponseScheduling = 'SILENT' | 'WHEN_IDLE' | 'INTERRUPT';

/** One call of a tool. */
export interface RunAsyncToolRequest {
  /** This call's own copy of its arguments. */
  readonly args: Record<string, unknown>;
  readonly toolContext: Context;
}

/** A request that a tool may shape. */
export interface ToolProcessLlmRequest {
  readonly toolContext: Context;
  readonly llmRequest: LlmRequest;
}

/** The options that every tool has, beside its name. */
export const toolOptions: OptionSpec<Omit<BaseToolParams, 'name'>> = {
  description: isString,
  isLongRunning: optional(isBoolean),
  timeoutMs: optional(isPositiveMs),
  exclusive: optional(isBoolean),
  responseScheduling: optional(isOneOf(['SILENT', 'WHEN_IDLE', 'INTERRUPT'])),
  requireConfirmation: optional(anyOf(isBoolean, isFunction)),
};

/** A tool that a model can call. */
export abstract class BaseTool {
  readonly name: string;
  readonly description: string;
  readonly isLongRunning: boolean;
  readonly timeoutMs: number;
  readonly exclusive: boolean;
  readonly responseScheduling: ResponseScheduling | undefined;
  readonly requireConfirmation: RequireConfirmation;
  /** Where the body lives, for threads. `only`: it runs there in every mode. */
  readonly worker?: (ToolWorker & {readonly only: boolean}) | undefined;

  /** @throws {@link InvalidOptionError} where a parameter cannot be used */
  constructor(params: BaseToolParams) {
    const {name, description, isLongRunning = false, timeoutMs = 120_000, exclusive = false, responseScheduling} = params;
    const {requireConfirmation = false} = params;
    const isToolName = typeof name === 'string' && /^[A-Za-z_][\w.:-]{0,127}$/.test(name);
    expectOption(isToolName, 'tool.name', 'a letter or "_" and then at most 127 of A-Z a-z 0-9 _ . : -', name);
    checkValues(name, params, toolOptions);
    this.name = name;
    this.description = description;
    this.isLongRunning = isLongRunning;
    this.timeoutMs = timeoutMs;
    this.exclusive = exclusive;
    this.responseScheduling = responseScheduling;
    this.requireConfirmation = requireConfirmation;
  }

  /** What the model is told of it; `undefined` for a tool that only shapes the request. Asked for once and kept. */
  _getDeclaration(): FunctionDeclaration | undefined {
    return undefined;
  }

  /**
   * Checks the arguments of a call, before its hooks and its body see them. By default they must be an object; missing ones are `{}`.
   *
   * @param args - what the model sent
   * @throws to refuse them: the tool does not run, and the message is told to the model
   */
  validateArgs(args: unknown): Record<string, unknown> | Promise<Record<string, unknown>> {
    return validateArguments({}, args);
  }

  /**
   * Runs one call. What it resolves to is told to the model: a plain object as it is, anything else as `{result: value}`. An async
   * generator as the result is run: what it yields is shown to the reader as progress, what it returns is the result.
   *
   * A throw is told to the model as `{error: message}` and ends nothing else.
   */
  abstract runAsync(request: RunAsyncToolRequest): Promise<unknown>;

  /** Shapes a model request before it is sent. Does nothing by default: declarations are added by the agent. */
  async processLlmRequest(_request: ToolProcessLlmRequest): Promise<void> {}
}
