import type {Content} from '@google/genai';
import type {BaseAgent, BaseTool, Context, Event, InvocationContext, LlmRequest, LlmResponse} from 'sluice';
import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

type OfRun = {invocationContext: InvocationContext};
type OfAgent = {agent: BaseAgent; callbackContext: Context};
type OfTool = {tool: BaseTool; toolArgs: Record<string, unknown>; toolContext: Context};

/** A plugin with every hook that both have, and one that answers for a model that fails and for a tool that throws. */
export const program: Program = async ({BasePlugin, FunctionTool, InMemoryRunner, LlmAgent}, {model, note, read}) => {
  const seen: string[] = [];
  class Witness extends BasePlugin {
    override async onUserMessageCallback({userMessage}: OfRun & {userMessage: Content}): Promise<undefined> {
      seen.push(`user: ${userMessage.parts?.[0]?.text}`);
    }
    override async beforeRunCallback({invocationContext}: OfRun): Promise<undefined> {
      seen.push(`before the run of ${invocationContext.userId}`);
    }
    override async onEventCallback({event}: OfRun & {event: Event}): Promise<Event | undefined> {
      seen.push(`event of ${event.author}`);
      if (event.content?.parts?.[0]?.text !== 'Divided.') return undefined;
      return {...event, content: {role: 'model', parts: [{text: 'Divided by two.'}]}};
    }
    override async afterRunCallback(): Promise<void> {
      seen.push('after the run');
    }
    override async beforeAgentCallback({agent}: OfAgent): Promise<undefined> {
      seen.push(`before ${agent.name}`);
    }
    override async afterAgentCallback({agent}: OfAgent): Promise<undefined> {
      seen.push(`after ${agent.name}`);
    }
    override async beforeModelCallback({llmRequest}: {callbackContext: Context; llmRequest: LlmRequest}): Promise<undefined> {
      seen.push(`before the model: ${llmRequest.contents.length}`);
    }
    override async afterModelCallback({llmResponse}: {callbackContext: Context; llmResponse: LlmResponse}): Promise<undefined> {
      seen.push(`after the model: ${llmResponse.content?.parts?.length}`);
    }
    override async beforeToolCallback({tool, toolArgs}: OfTool): Promise<undefined> {
      seen.push(`before ${tool.name} ${JSON.stringify(toolArgs)}`);
    }
    override async afterToolCallback({tool, result}: OfTool & {result: Record<string, unknown>}): Promise<undefined> {
      seen.push(`after ${tool.name} ${JSON.stringify(result)}`);
    }
    override async onToolErrorCallback({tool}: OfTool & {error: unknown}): Promise<Record<string, unknown> | undefined> {
      seen.push(`error of ${tool.name}`);
      return {status: 'no result'};
    }
  }
  const divide = new FunctionTool({
    name: 'divide',
    description: 'Divides.',
    parameters: z.object({by: z.number()}),
    execute: ({by}) => {
      if (by === 0) throw new Error('Division by zero.');
      return {result: 84 / by};
    },
  });
  const rootAgent = new LlmAgent({
    name: 'divider',
    model: model('divider', [[call('divide', {by: 2})], [call('divide', {by: 0})], 'Divided.']),
    tools: [divide],
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'division', plugins: [new Witness('witness')]});
  const session = await runner.sessionService.createSession({appName: 'division', userId: 'ada'});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: session.id, newMessage: says('Divide 84.')})) read(event);
  note('seen', seen);
};
