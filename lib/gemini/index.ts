/** Gemini models for Sluice, on the Gemini API and Vertex AI. */
export type {ContextCacheConfig} from './context-cache-config.ts';
export {Gemini} from './gemini.ts';
export type {GeminiOptions} from './gemini-options.ts';
export type {LiveFrame} from './live/live-frame.ts';
