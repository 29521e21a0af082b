import type {Models} from '@google/genai';

import type {CacheStore} from './cache-requests.ts';
import type {GeminiOptions} from './gemini-options.ts';
import {targetOf} from './gemini-target.ts';

/** What an adapter needs of a genai client. */
export interface GeminiClient {
  readonly models: Pick<Models, 'generateContent' | 'generateContentStream'>;
  readonly caches: CacheStore;
  /** Which backend it talks to: Vertex AI, or the Gemini API. */
  readonly vertexai: boolean;
}

/**
 * Loads genai and makes a client. Where an API key is all it needs that is genai's web entry, which loads in a third of the time: it leaves
 * out google-auth-library and ws.
 *
 * @throws {@link ModelError} `MISSING_API_KEY` if neither the options nor the environment say how to log in
 */
export async function loadGeminiClient(options: GeminiOptions): Promise<GeminiClient> {
  const target = targetOf(options);
  if (target.apiKey !== undefined && target.project === undefined && target.location === undefined) {
    const {GoogleGenAI} = await import('@google/genai/web');
    const {models, caches} = new GoogleGenAI(target);
    return {models, caches, vertexai: target.vertexai};
  }
  const {GoogleGenAI} = await import('@google/genai');
  const {models, caches} = new GoogleGenAI(target);
  return {models, caches, vertexai: target.vertexai};
}
