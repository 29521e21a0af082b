import type {Caches, GenerateContentConfig, GenerateContentParameters, HttpOptions, Tool} from '@google/genai';

import type {Content} from '../content.ts';
import {ModelError} from '../errors.ts';

/** What caching needs of a genai client. */
export type CacheStore = Pick<Caches, 'create' | 'delete'>;

const TIMEOUT_MS = 30_000;

/** Makes a cache of a request's instruction and tools and of its first contents, and gives its name. The request's own signal ends it. */
export async function createCache(
  caches: CacheStore,
  {model, contents, config = {}}: GenerateContentParameters,
  {length, ttlSeconds}: {readonly length: number; readonly ttlSeconds: number},
): Promise<string> {
  const {systemInstruction, tools, toolConfig, httpOptions, abortSignal} = config;
  const {name} = await caches.create({
    model,
    config: {
      ttl: `${ttlSeconds}s`,
      httpOptions: ownHttpOptions(httpOptions),
      ...(length > 0 && {contents: listOf(contents).slice(0, length)}),
      ...(systemInstruction !== undefined && {systemInstruction}),
      ...(tools !== undefined && {tools: tools as Tool[]}),
      ...(toolConfig !== undefined && {toolConfig}),
      ...(abortSignal && {abortSignal}),
    },
  });
  if (!name) throw new ModelError('The cache that was made has no name', {code: 'PROTOCOL_ERROR'});
  return name;
}

/** Deletes a cache; one that cannot be deleted is left to its time. Throws the signal's reason on an abort. */
export async function deleteCache(
  caches: CacheStore,
  name: string,
  {httpOptions, abortSignal}: Pick<GenerateContentConfig, 'httpOptions' | 'abortSignal'> = {},
): Promise<void> {
  try {
    await caches.delete({name, config: {httpOptions: ownHttpOptions(httpOptions), ...(abortSignal && {abortSignal})}});
  } catch {
    abortSignal?.throwIfAborted();
  }
}

/** The contents of a request, as `toGenai` makes them. */
export function listOf(contents: GenerateContentParameters['contents']): Content[] {
  return contents as Content[];
}

/** What is added to the body of a request does not fit here; and the request that waits for this one must not wait for ever. */
function ownHttpOptions(httpOptions: HttpOptions | undefined): HttpOptions {
  const {extraBody: _, ...rest} = httpOptions ?? {};
  return {...rest, timeout: TIMEOUT_MS};
}
