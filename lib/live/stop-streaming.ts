import {fixedToolbox, type Toolbox} from '../agents/llm/toolbox.ts';
import type {FunctionDeclaration} from '../content.ts';
import {BaseTool, type RunAsyncToolRequest} from '../tools/base-tool.ts';
import type {LiveCalls} from './live-calls.ts';

const NAME = 'stop_streaming';

/** The tools of a live run. Where the model does not wait for one of them, it can also end it, with a tool by ADK's name. */
export async function withStopStreaming(
  toolbox: Toolbox,
  owner: string,
): Promise<{readonly toolbox: Toolbox; readonly stopStreaming?: StopStreamingTool}> {
  const tools = await toolbox.list();
  if (!tools.some((tool) => tool.responseScheduling) || tools.some(({name}) => name === NAME)) return {toolbox};
  const stopStreaming = new StopStreamingTool();
  return {toolbox: fixedToolbox(owner, [...tools, stopStreaming]), stopStreaming};
}

class StopStreamingTool extends BaseTool {
  #calls: Pick<LiveCalls, 'stopStreaming'> | undefined;

  constructor() {
    super({name: NAME, description: 'Stops a function that goes on answering in the background.'});
  }

  attach(calls: Pick<LiveCalls, 'stopStreaming'>): void {
    this.#calls = calls;
  }

  override _getDeclaration(): FunctionDeclaration {
    return {
      name: this.name,
      description: this.description,
      parametersJsonSchema: {
        type: 'object',
        properties: {function_name: {type: 'string', description: 'The name of the function to stop.'}},
        required: ['function_name'],
      },
    };
  }

  override async runAsync({args}: RunAsyncToolRequest): Promise<unknown> {
    const name = args['function_name'];
    if (typeof name !== 'string') throw new TypeError('function_name must be the name of a function');
    if (!this.#calls?.stopStreaming(name)) throw new Error(`No call of \`${name}\` is running`);
    return {status: `Stopped \`${name}\``};
  }
}
