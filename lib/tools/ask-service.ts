import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import {checkArtifact} from '../artifacts/check-artifact-arguments.ts';
import type {Part} from '../content.ts';
import {expectOption} from '../errors.ts';
import type {BaseMemoryService, MemoryEntry, SearchMemoryRequest} from '../memory/base-memory-service.ts';
import {isRecord} from '../schema/is-record.ts';
import type {ArtifactContext} from './service-context.ts';

// Services are the program's own, and may hand on what a server has sent them: what they give is checked before it is used.

/** @throws {@link InvalidOptionError} for an answer that is none, and what the service fails with */
export async function searchMemory(service: BaseMemoryService, request: SearchMemoryRequest): Promise<readonly MemoryEntry[]> {
  const answer: unknown = await service.searchMemory(request);
  const memories = isRecord(answer) ? answer['memories'] : undefined;
  expectOption(Array.isArray(memories), 'the answer of memoryService.searchMemory', '{memories: [...]}', answer);
  memories.forEach((memory: unknown, index) => {
    const option = `memories[${index}] in the answer of memoryService.searchMemory`;
    expectOption(isMemory(memory), option, 'a memory, {content: {parts: [...]}}', memory);
  });
  return memories as MemoryEntry[];
}

/** @throws {@link InvalidOptionError} for an answer that is no list of names, and what the service fails with */
export async function listArtifactNames(service: BaseArtifactService, context: ArtifactContext): Promise<readonly string[]> {
  const names: unknown = await service.listArtifactKeys(scopeOf(context));
  const isList = Array.isArray(names) && names.every((name) => typeof name === 'string');
  expectOption(isList, 'the answer of artifactService.listArtifactKeys', 'a list of names', names);
  return names;
}

/**
 * Nothing where there is no such file.
 *
 * @throws {@link InvalidOptionError} for an answer that is no artifact, and what the service fails with
 */
export async function loadArtifact(service: BaseArtifactService, context: ArtifactContext, filename: string): Promise<Part | undefined> {
  const artifact = await service.loadArtifact({...scopeOf(context), filename});
  if (artifact === undefined || artifact === null) return undefined;
  checkArtifact(artifact, 'the answer of artifactService.loadArtifact');
  return artifact;
}

function isMemory(value: unknown): boolean {
  const content = isRecord(value) ? value['content'] : undefined;
  if (!isRecord(content)) return false;
  const {parts = []} = content;
  return Array.isArray(parts) && parts.every(isRecord);
}

function scopeOf({appName, userId, sessionId}: ArtifactContext): {appName: string; userId: string; sessionId: string} {
  return {appName, userId, sessionId};
}
