import {agentEvent} from '../agents/agent-event.ts';
import type {InvocationContext} from '../agents/base-agent.ts';
import type {LlmAgent} from '../agents/llm/llm-agent.ts';
import type {Content, FunctionResponse} from '../content.ts';
import {messageOf} from '../errors.ts';
import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event} from '../events/event.ts';
import type {LlmRequest} from '../models/llm-request.ts';
import {toFunctionResponse} from '../tools/tool-result.ts';
import {OUTPUT_TOOL, type OutputFormat} from './output-format.ts';

/** How often the model is asked again for output of the right form. */
const MAX_REPEATS = 2;

/** The output of one run of an agent: asked for, checked, and asked for again. */
export class OutputRun {
  readonly #agent: LlmAgent;
  readonly #format: OutputFormat;
  /** Replies that were refused, and why: told to the model, and never stored. */
  readonly #said: Content[] = [];
  #refused = 0;

  constructor(agent: LlmAgent, format: OutputFormat) {
    this.#agent = agent;
    this.#format = format;
  }

  shape(request: LlmRequest): void {
    this.#format.shape(request);
    request.contents.push(...this.#said);
  }

  /** A reply with its output; one that says why it has none; nothing where the model is to be asked again. A reply that was cut stays as it is. */
  async finish(reply: Event): Promise<Event | undefined> {
    if (reply.errorCode) return reply;
    try {
      const output = await this.#format.validate(parsed(stringifyContent(reply)));
      // As the tool gives it, and as it is stored: in JSON.
      return {...reply, output: toFunctionResponse(output).response};
    } catch (error) {
      const problem = `This is not the form that was asked for. ${messageOf(error)}`;
      if (this.#refused++ >= MAX_REPEATS) return invalid(reply, problem);
      const hint = this.#format.tools.length > 0 ? ` Call ${OUTPUT_TOOL}.` : '';
      this.#said.push(reply.content ?? {role: 'model', parts: []}, {role: 'user', parts: [{text: `${problem}${hint}`}]});
      return undefined;
    }
  }

  /** After a batch with the output in it: the Event that tells it. After too many with a refused one: the Event that says so. */
  async next(ctx: InvocationContext, answer: Event): Promise<AsyncGenerator<Event, void, undefined> | undefined> {
    let problem: string | undefined;
    for (const given of getFunctionResponses(answer)) {
      if (given.name !== OUTPUT_TOOL) continue;
      const {response = {}} = given;
      const found = await this.#problemOf(ctx, given);
      if (found === undefined) return this.#tell(ctx, (event) => ({...event, output: response}), JSON.stringify(response));
      problem ??= found;
    }
    if (problem === undefined || this.#refused++ < MAX_REPEATS) return undefined;
    return this.#tell(ctx, (event) => invalid(event, problem));
  }

  /** What is wrong with a response of the output's tool: a hook may have given it in the tool's place. */
  async #problemOf({run}: InvocationContext, {id, response = {}}: FunctionResponse): Promise<string | undefined> {
    const call = run.session.events.flatMap(getFunctionCalls).findLast((made) => made.id === id);
    const own = await this.#check(call?.args);
    if (own.output && JSON.stringify(toFunctionResponse(own.output).response) === JSON.stringify(response)) return undefined;
    if ('error' in response) return String(response['error']);
    return (await this.#check(response)).problem;
  }

  async #check(output: unknown): Promise<{readonly output?: Record<string, unknown>; readonly problem?: string}> {
    try {
      return {output: await this.#format.validate(output)};
    } catch (error) {
      return {problem: messageOf(error)};
    }
  }

  async *#tell(ctx: InvocationContext, complete: (event: Event) => Event, text?: string): AsyncGenerator<Event, void, undefined> {
    const {steps, open} = ctx.run;
    const event = await agentEvent(ctx, steps, text === undefined ? {} : {content: {role: 'model', parts: [{text}]}});
    yield open.complete(this.#agent.withOutput(complete(event)));
  }
}

function invalid(event: Event, problem: string): Event {
  return {...event, errorCode: 'INVALID_OUTPUT', errorMessage: problem};
}

/** What a model wrote as JSON, with or without the fence that some put around it; the text itself where it is none. */
function parsed(text: string): unknown {
  const [, fenced = text] = /^\s*```(?:json)?\s*([\s\S]*?)\s*```\s*$/.exec(text) ?? [];
  try {
    return JSON.parse(fenced) as unknown;
  } catch {
    return text;
  }
}
