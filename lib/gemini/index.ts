/** Gemini models for Sluice, over `@google/genai`. */
export {Gemini} from './gemini.ts';
export type {GeminiOptions} from './gemini-options.ts';
export type {LiveFrame} from './live/live-frame.ts';
