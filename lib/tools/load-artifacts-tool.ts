import {USER_PREFIX, type BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {Content, Part} from '../content.ts';
import {expectOption} from '../errors.ts';
import {appendInstructions} from '../models/llm-request.ts';
import {listArtifactNames, loadArtifact} from './ask-service.ts';
import type {ToolProcessLlmRequest} from './base-tool.ts';
import {FunctionTool} from './function-tool.ts';
import {readableArtifact} from './readable-artifact.ts';
import type {ArtifactContext} from './service-context.ts';

const NAMES = {
  type: 'object',
  properties: {artifact_names: {type: 'array', items: {type: 'string'}, description: 'The names of the files to look into.'}},
} as const;

/**
 * Lets the model look into the session's and the user's artifacts, in the runner's `artifactService`: it is told their names, and what it
 * asks for stands at the end of its next request, and of that one only. Nothing of it is stored in the session.
 *
 * Images, sound, video and PDF are shown as they are, other text as text; of anything else the model is told its type and size. A name
 * without `user:` also finds the user's file. Without an artifact service a call is answered by an error.
 *
 * @example
 * ```ts
 * import {InMemoryArtifactService, InMemoryRunner, LlmAgent, LOAD_ARTIFACTS} from 'sluice';
 *
 * const agent = new LlmAgent({name: 'reader', model: 'gemini-2.5-flash', tools: [LOAD_ARTIFACTS]});
 * const runner = new InMemoryRunner({agent, appName: 'demo', artifactService: new InMemoryArtifactService()});
 * ```
 */
export class LoadArtifactsTool extends FunctionTool<typeof NAMES> {
  constructor() {
    super({
      name: 'load_artifacts',
      description: 'Shows you files of the conversation, such as those that the user has uploaded.',
      parameters: NAMES,
      execute: (args, context) => answer((args['artifact_names'] ?? []) as readonly string[], context),
    });
  }

  /** Names the artifacts, and adds those that the calls before this request asked for. */
  override async processLlmRequest({toolContext, llmRequest}: ToolProcessLlmRequest): Promise<void> {
    const context: ArtifactContext = toolContext;
    const {artifactService} = context;
    if (!artifactService) return;
    const names = await listArtifactNames(artifactService, context);
    if (names.length > 0) appendInstructions(llmRequest, [`There are these files:\n${JSON.stringify(names)}\n${INSTRUCTION}`]);
    for (const name of askedFor(llmRequest.contents.at(-1), this.name)) {
      const artifact = await find(artifactService, context, name);
      const shown = artifact ? readableArtifact(artifact, name) : {text: 'there is no such file.'};
      llmRequest.contents.push({role: 'user', parts: [{text: `Artifact ${name} is:`}, shown]});
    }
  }
}

/** The {@link LoadArtifactsTool}; one serves all agents. */
export const LOAD_ARTIFACTS: LoadArtifactsTool = /* @__PURE__ */ new LoadArtifactsTool();

const FOLLOW = 'The contents follow, this once. Call load_artifacts again to see them again.';
const NONE_NAMED = 'Nothing follows: no file was named.';
const INSTRUCTION =
  'Before you answer a question about one of them, call `load_artifacts` to see it, also where you have seen it before: it may have changed.';

function answer(names: readonly string[], {artifactService}: ArtifactContext): {artifact_names: readonly string[]; status: string} {
  expectOption(artifactService !== undefined, 'artifactService', 'a BaseArtifactService of the runner, to load from', artifactService);
  return {artifact_names: names, status: names.length > 0 ? FOLLOW : NONE_NAMED};
}

/** The names that the responses at the end of the history say, each once. A model may make up anything. */
function askedFor(content: Content | undefined, tool: string): ReadonlySet<string> {
  const responses = (content?.parts ?? []).flatMap(({functionResponse}) => (functionResponse?.name === tool ? functionResponse : []));
  const names: unknown[] = responses.flatMap(({response}) => response?.['artifact_names'] ?? []);
  return new Set(names.filter((name) => typeof name === 'string'));
}

async function find(service: BaseArtifactService, context: ArtifactContext, filename: string): Promise<Part | undefined> {
  if (filename === '' || filename === USER_PREFIX) return undefined;
  const found = await loadArtifact(service, context, filename);
  if (found || filename.startsWith(USER_PREFIX)) return found;
  return loadArtifact(service, context, USER_PREFIX + filename);
}
