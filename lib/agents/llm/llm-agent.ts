import {expectOption} from '../../errors.ts';
import {stringifyContent, type Event} from '../../events/event.ts';
import type {GenerateContentConfig} from '../../content.ts';
import type {BaseLlm} from '../../models/base-llm.ts';
import {compileParameters, type OutputSchema, type Parameters, type ParametersSchema} from '../../schema/parameters.ts';
import {BaseTool} from '../../tools/base-tool.ts';
import type {BaseToolset} from '../../tools/base-toolset.ts';
import type {ToolExecutor} from '../../tools/tool-executor.ts';
import {BaseAgent, type InvocationContext} from '../base-agent.ts';
import {callbackList} from '../callbacks.ts';
import {buildRequest} from './build-request.ts';
import {ModelStep} from './call-model.ts';
import {ToolRound} from './call-tools.ts';
import {Histories} from './histories.ts';
import {
  checkLlmAgentConfig,
  type AfterModelCallback,
  type AfterToolCallback,
  type BeforeModelCallback,
  type BeforeToolCallback,
  type InstructionProvider,
  type LlmAgentConfig,
  type LlmAgentSettings,
  type OnModelErrorCallback,
  type OnToolErrorCallback,
} from './llm-agent-config.ts';
import type {ModelReply} from './model-step-record.ts';
import {markLongRunning, ownCalls} from './own-calls.ts';
import {ToolBatch} from './tool-batch.ts';
import {fixedToolbox, listToolbox, type Toolbox} from './toolbox.ts';

/**
 * An agent that asks a model, runs the tools that it calls, and asks again, until the model answers without calls. Its `outputSchema` types
 * what `runner.run` resolves to.
 *
 * @example
 * ```ts
 * import {FunctionTool, LlmAgent} from 'sluice';
 * import {z} from 'zod';
 *
 * const getTime = new FunctionTool({
 *   name: 'get_time',
 *   description: 'The time in a time zone.',
 *   parameters: z.object({timeZone: z.string()}),
 *   execute: ({timeZone}) => new Date().toLocaleTimeString('en', {timeZone}),
 * });
 * const clock = new LlmAgent({name: 'clock', model: 'gemini-2.5-flash', instruction: 'Tell the time.', tools: [getTime]});
 * ```
 */
export class LlmAgent<T = unknown> extends BaseAgent implements LlmAgentSettings {
  /** As it was given; `canonicalModel` is the model itself. */
  readonly model: string | BaseLlm | undefined;
  readonly instruction: string | InstructionProvider;
  readonly globalInstruction: string | InstructionProvider | undefined;
  readonly staticInstruction: GenerateContentConfig['systemInstruction'] | undefined;
  readonly tools: readonly (BaseTool | BaseToolset)[];
  readonly generateContentConfig: GenerateContentConfig | undefined;
  readonly includeContents: 'default' | 'none';
  readonly outputKey: string | undefined;
  readonly inputSchema: ParametersSchema | undefined;
  readonly outputSchema: OutputSchema<T> | undefined;
  /** @internal What `outputSchema` comes to. */
  readonly outputFormat: Parameters | undefined;
  readonly disallowTransferToParent: boolean;
  readonly disallowTransferToPeers: boolean;
  /** Where its `worker` tools run; the shared pool from the first such call on, where it has none of its own. */
  executor: ToolExecutor | undefined;
  readonly beforeModelCallback: readonly BeforeModelCallback[];
  readonly afterModelCallback: readonly AfterModelCallback[];
  readonly onModelErrorCallback: readonly OnModelErrorCallback[];
  readonly beforeToolCallback: readonly BeforeToolCallback[];
  readonly afterToolCallback: readonly AfterToolCallback[];
  readonly onToolErrorCallback: readonly OnToolErrorCallback[];
  /** @internal The tools, where none of them comes from a toolset. */
  readonly toolbox: Toolbox | undefined;
  readonly #model: BaseLlm | undefined;
  readonly #histories: Histories;

  /** @throws {@link InvalidOptionError} where an option cannot be used, the model's name is not known, or two tools have one name */
  constructor(config: LlmAgentConfig<T>) {
    super(config);
    this.#model = checkLlmAgentConfig(config);
    this.model = config.model;
    this.instruction = config.instruction ?? '';
    this.globalInstruction = config.globalInstruction;
    this.staticInstruction = config.staticInstruction;
    this.tools = Object.freeze([...(config.tools ?? [])]);
    this.generateContentConfig = config.generateContentConfig;
    this.includeContents = config.includeContents ?? 'default';
    this.outputKey = config.outputKey;
    // Worked out where an `AgentTool` is made; what cannot be one is told here.
    compileParameters(config.inputSchema, `${this.name}.inputSchema`);
    this.inputSchema = config.inputSchema;
    this.outputSchema = config.outputSchema;
    if (config.outputSchema !== undefined) this.outputFormat = compileParameters(config.outputSchema, `${this.name}.outputSchema`);
    this.disallowTransferToParent = config.disallowTransferToParent ?? false;
    this.disallowTransferToPeers = config.disallowTransferToPeers ?? false;
    this.executor = config.executor;
    this.#histories = new Histories({agentName: this.name, includeContents: this.includeContents});
    this.beforeModelCallback = callbackList(config.beforeModelCallback);
    this.afterModelCallback = callbackList(config.afterModelCallback);
    this.onModelErrorCallback = callbackList(config.onModelErrorCallback);
    this.beforeToolCallback = callbackList(config.beforeToolCallback);
    this.afterToolCallback = callbackList(config.afterToolCallback);
    this.onToolErrorCallback = callbackList(config.onToolErrorCallback);
    const fixed = this.tools.filter((tool) => tool instanceof BaseTool);
    const toolbox = fixedToolbox(this.name, fixed);
    if (fixed.length === this.tools.length) this.toolbox = toolbox;
  }

  /**
   * The model that the agent asks: its own, or else that of the nearest `LlmAgent` above.
   *
   * @throws {@link InvalidOptionError} where neither has one
   */
  override get canonicalModel(): BaseLlm {
    const model = this.#model ?? super.canonicalModel;
    expectOption(model !== undefined, `${this.name}.model`, 'a BaseLlm or the name of a model, here or at an agent above', model);
    return model;
  }

  protected override async *runAsyncImpl(ctx: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const history = this.#histories.take(ctx.branch, ctx.run.session.events);
    const {steps, open, plugins} = ctx.run;
    const settings: LlmAgentSettings = plugins?.settingsOf<LlmAgentSettings>(this) ?? this;
    const answers = ctx.userContent?.parts?.some((part) => part.functionResponse);
    const isPlain = !answers && !this.parentAgent && this.subAgents.length === 0 && !this.outputSchema;
    let flow = isPlain ? undefined : (await import('sluice/flow')).flowOf(this);
    const isTaken = (id: string): boolean => history.hasCall(id) || !!ctx.run.callIds?.isTaken(id, ctx.branch);
    const listTools = (): Promise<Toolbox> => listToolbox(ctx, [...this.tools, ...(flow?.tools ?? [])]);
    try {
      if (answers && flow && (yield* flow.resume(settings, ctx, listTools))) return;
      for (let step = 0; ; step++) {
        ctx.run.life.throwIfEnded();
        const toolbox = (flow ?? this).toolbox ?? (await listTools());
        const request = await buildRequest(settings, ctx, {contents: history.contents(ctx.run.session.events), toolbox, step});
        flow?.shape(request);
        const model = new ModelStep(settings, ctx, {request, toolbox, isTaken}, await steps.uuid());
        let answered: ModelReply;
        try {
          answered = yield* steps.stream(`model of ${this.name}`, () => model.run());
        } catch (error) {
          throw model.failed(error);
        }
        const reply = model.finish(answered, await steps.now());
        const calls = ownCalls(reply);
        if (calls.length === 0) {
          const final = flow ? await flow.finish(reply) : reply;
          if (!final) continue;
          yield open.complete(this.withOutput(final));
          return;
        }

        markLongRunning(reply, calls, toolbox);
        const batch = new ToolBatch(ctx, reply, calls);
        const close = open.add(batch);
        yield open.complete(reply);
        if (reply.errorCode) batch.refuse(reply.errorCode);
        else yield* new ToolRound(settings, ctx, batch, toolbox).run();
        const answer = batch.answer(await steps.uuid(), await steps.now());
        if (answer.longRunningToolIds) batch.question = await (await import('sluice/flow')).requestEvent(ctx, calls, answer);
        if (batch.question) yield open.complete(batch.question);
        yield open.complete(answer);
        close();
        // A batch with calls that wait is not over: what comes after it comes when they are answered.
        if (reply.errorCode || answer.longRunningToolIds) return;
        // A tool may name an agent that the one without a place in a tree cannot know.
        if (answer.actions.transferToAgent !== undefined) flow ??= (await import('sluice/flow')).flowOf(this);
        const next = flow && (await flow.next(ctx, answer));
        if (next) return yield* next;
        if (answer.actions.skipSummarization) return;
      }
    } finally {
      this.#histories.keep(history, ctx.run.session.events);
    }
  }

  protected override async *runLiveImpl(ctx: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const {runLive} = await import('sluice/live');
    yield* runLive(ctx.run.plugins?.settingsOf<LlmAgent>(this) ?? this, ctx, this.#histories);
  }

  /** @internal Stores the output of a usable final reply, or else its text, under `outputKey`. */
  withOutput(reply: Event): Event {
    if (this.outputKey === undefined || reply.errorCode) return reply;
    const output = reply.output ?? stringifyContent(reply);
    if (output) reply.actions.stateDelta[this.outputKey] = output;
    return reply;
  }
}
