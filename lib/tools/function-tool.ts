import type {FunctionDeclaration} from '../content.ts';
import type {Context} from '../context/context.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {checkOptions, isAnything, isFunction, isName, isString, optional} from '../schema/options.ts';
import {compileParameters, type ArgumentsOf, type Parameters, type ParametersSchema} from '../schema/parameters.ts';
import {prepareValidation, validateArguments} from '../schema/validate-arguments.ts';
import {BaseTool, toolOptions, type ResponseScheduling, type RunAsyncToolRequest} from './base-tool.ts';
import type {ToolWorker} from './tool-executor.ts';

/** What makes a function a tool. A key whose value is `undefined` counts as absent. */
export interface FunctionToolOptions<TSchema extends ParametersSchema | undefined = undefined> {
  /** What the model calls it. Default: the name of `execute`, where it has one of its own. */
  readonly name?: string | undefined;
  /** Tells the model when and how to use it. */
  readonly description: string;
  /** Describes the arguments, an object. Default: the tool takes none. */
  readonly parameters?: TSchema | undefined;
  /**
   * The body: what it returns, or throws, is told to the model. An async generator's yields are shown to the reader as progress. It should
   * end soon after `context.abortSignal` fires; if not, it is left behind and what it still gives is lost.
   */
  readonly execute?: ((args: ArgumentsOf<TSchema>, context: Context) => unknown) | undefined;
  /**
   * Where a body for worker threads lives: `(args, context) => ...`, exported by a module of bodies only, with a `WorkerContext` of
   * `sluice/workers`. With `execute` it is used in `PARALLEL_SUBSCRIBE`, without it always. Arguments and results are cloned.
   */
  readonly worker?: ToolWorker | undefined;
  /** `true`: what the body returns is provisional, and the final result comes with a later run. Default `false`. */
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
  /**
   * Whether the user of the app is asked before a call runs; a function decides for each call. Nothing but `false` from it lets a call run
   * unasked; where it throws, the call fails. Default `false`.
   */
  readonly requireConfirmation?: boolean | ((args: ArgumentsOf<TSchema>, context: Context) => boolean | Promise<boolean>) | undefined;
}

/**
 * A function as a tool. Its schema is turned into a declaration once; each call's arguments are checked against it, and the body gets
 * what the schema's validator gives, typed by it.
 *
 * @example
 * ```ts
 * import {FunctionTool} from 'sluice';
 * import {z} from 'zod';
 *
 * const getWeather = new FunctionTool({
 *   name: 'get_weather',
 *   description: 'Current weather for a city.',
 *   parameters: z.object({city: z.string()}),
 *   timeoutMs: 5_000,
 *   execute: async ({city}, {abortSignal}) => {
 *     const response = await fetch(`https://weather.example/${city}`, {signal: abortSignal});
 *     return response.json();
 *   },
 * });
 *
 * const countDown = new FunctionTool({
 *   name: 'count_down',
 *   description: 'Counts down, and shows each number.',
 *   parameters: {type: 'object', properties: {from: {type: 'integer'}}, required: ['from']},
 *   execute: async function* ({from}) {
 *     for (let left = Number(from); left > 0; left--) yield {left};
 *     return 'lift-off';
 *   },
 * });
 * ```
 */
export class FunctionTool<TSchema extends ParametersSchema | undefined = undefined> extends BaseTool {
  // Not typed by the schema, so that a tool of any schema is a `FunctionTool`.
  override readonly worker: BaseTool['worker'];
  readonly #execute: ((args: never, context: Context) => unknown) | undefined;
  readonly #parameters: Parameters;
  readonly #declaration: FunctionDeclaration;

  /** @throws {@link InvalidOptionError} for an option that is unknown or cannot be used, and for a schema without a JSON form */
  constructor(options: FunctionToolOptions<TSchema>) {
    const name = checkedName(options);
    super({...options, name});
    const {description, execute, worker} = options;
    this.#execute = execute;
    this.worker = worker && {...worker, only: !execute};
    this.#parameters = compileParameters(options.parameters, `${name}.parameters`);
    prepareValidation(this.#parameters);
    this.#declaration = Object.freeze({
      name,
      description: this.isLongRunning ? `${description}\n\n${LONG_RUNNING_NOTE}`.trim() : description,
      ...this.#parameters.declaration,
    });
  }

  /** The declaration, always the same frozen object. */
  override _getDeclaration(): FunctionDeclaration {
    return this.#declaration;
  }

  override validateArgs(args: unknown): Record<string, unknown> | Promise<Record<string, unknown>> {
    return validateArguments(this.#parameters, args);
  }

  /** Runs the body. The arguments are taken as they are: the run has checked them, and its hooks may have changed them since. */
  override async runAsync({args, toolContext}: RunAsyncToolRequest): Promise<unknown> {
    return this.#execute?.(args as never, toolContext);
  }
}

const LONG_RUNNING_NOTE = 'Its first answer is provisional; the final one comes later. Until then, do not call it again for the same task.';

/** Checks the options before they are read, and gives the tool's name. */
function checkedName<TSchema extends ParametersSchema | undefined>(options: FunctionToolOptions<TSchema>): string {
  const owner = isRecord(options) && typeof options.name === 'string' ? options.name : 'tool';
  checkOptions<FunctionToolOptions<TSchema>>(owner, options, {
    name: optional(isString),
    ...toolOptions,
    parameters: isAnything,
    execute: options?.worker ? optional(isFunction) : isFunction,
    worker: optional({
      expected: '{module: URL, export: name}',
      // A path is relative to nothing on a thread; the letter of a drive is no scheme.
      accepts: (value) =>
        isRecord(value) &&
        Object.keys(value).length === 2 &&
        isName.accepts(value['export']) &&
        /^[a-z]{2,}:/.test(String(value['module'])),
    }),
  });
  const name = options.name ?? options.execute?.name ?? '';
  // A function that is written in place is named `execute` by the language, after its key.
  const isOwn = options.name !== undefined || (name !== '' && name !== 'execute');
  expectOption(isOwn, 'tool.name', 'a name, as `execute` has none of its own', options.name);
  return name;
}
