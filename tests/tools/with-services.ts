import type {BaseArtifactService, BaseTool, Context} from '../../lib/index.ts';
import type {BaseMemoryService} from '../../lib/memory/base-memory-service.ts';

export interface Services {
  readonly memoryService?: BaseMemoryService;
  readonly artifactService?: BaseArtifactService;
}

/** A tool whose contexts have these services. */
export function withServices<T extends BaseTool>(tool: T, services: Services): T {
  const runAsync = tool.runAsync.bind(tool);
  const processLlmRequest = tool.processLlmRequest.bind(tool);
  return Object.assign(tool, {
    runAsync: (request: Parameters<typeof runAsync>[0]) => runAsync({...request, toolContext: serving(request.toolContext, services)}),
    processLlmRequest: (request: Parameters<typeof processLlmRequest>[0]) =>
      processLlmRequest({...request, toolContext: serving(request.toolContext, services)}),
  });
}

function serving(context: Context, services: Services): Context {
  return new Proxy(context, {
    get: (target, key): unknown => (Object.hasOwn(services, key) ? Reflect.get(services, key) : Reflect.get(target, key)),
  });
}
