import type {GoogleGenAIOptions, HttpOptions} from '@google/genai';

import {InvalidOptionError} from '../errors.ts';
import {checkContextCacheConfig, type ContextCacheConfig} from './context-cache-config.ts';
import type {LiveFrame} from './live/live-frame.ts';

/** What `new Gemini(...)` takes. A key whose value is `undefined` is absent. */
export interface GeminiOptions {
  /** The model's name, for example `gemini-2.5-flash`; a resource name works too. A request's own `model` wins. */
  readonly model: string;
  /** The API key. Default: the environment's `GOOGLE_API_KEY`, else `GEMINI_API_KEY`. */
  readonly apiKey?: string | undefined;
  /**
   * Whether to talk to Vertex AI instead of the Gemini API. Default: true if `project`, `location` or `googleAuthOptions` is given, else
   * what the environment's `GOOGLE_GENAI_USE_VERTEXAI` says.
   */
  readonly vertexai?: boolean | undefined;
  /** The Google Cloud project, for Vertex AI. Default: the environment's `GOOGLE_CLOUD_PROJECT`. */
  readonly project?: string | undefined;
  /** The Google Cloud location, for Vertex AI. Default: the environment's `GOOGLE_CLOUD_LOCATION`, else `global`. */
  readonly location?: string | undefined;
  /**
   * The API's version. Default: `httpOptions.apiVersion`, else the environment's `GOOGLE_GENAI_API_VERSION`, else `v1beta` (Gemini API; its
   * `v1` lacks previews and the `-latest` names) or `v1beta1` (Vertex AI).
   */
  readonly apiVersion?: string | undefined;
  /**
   * Options for HTTP: `baseUrl` (default: the environment's `GOOGLE_GEMINI_BASE_URL` or `GOOGLE_VERTEX_BASE_URL`), `headers`, `extraBody`,
   * `fetch` ... The object is never changed. Of `timeout` and `retryOptions` no request hears: `timeout` lowers `totalMs`, and
   * `retryOptions` overrides `attempts` and `retryDelayMs`. With a `fetch` of your own, that function's own timeouts apply too. A request's
   * `config.httpOptions` wins.
   */
  readonly httpOptions?: HttpOptions | undefined;
  /** How to log in to Vertex AI with a project, as google-auth-library takes it. */
  readonly googleAuthOptions?: GoogleGenAIOptions['googleAuthOptions'] | undefined;
  /** How long a stream's first chunk may take, in milliseconds. Default 180,000; Infinity turns it off. */
  readonly firstChunkMs?: number | undefined;
  /**
   * How long each further chunk may take, in milliseconds. Default 60,000; Infinity turns it off. On a live connection: how long the model
   * may say nothing while it owes an answer or the rest of one, and the server may be silent altogether, not answering a ping either.
   */
  readonly idleMs?: number | undefined;
  /**
   * How long a call may wait for the server in all, its retries included, in milliseconds. Default 600,000; Infinity turns it off. Like the
   * other two it counts only while a read is pending: a slow reader trips none.
   */
  readonly totalMs?: number | undefined;
  /** How often a request is sent at most, the first time included. Default 3. */
  readonly attempts?: number | undefined;
  /** The wait before the second attempt, in milliseconds, give or take a quarter; it doubles each time. Default 500. */
  readonly retryDelayMs?: number | undefined;
  /**
   * Caches on the server what a request and an earlier one both begin with, instruction, tools and contents, which costs less then; a reply
   * tells how much in `usageMetadata.cachedContentTokenCount`. It pays where instruction and history stay as they are from request to
   * request: what changes belongs behind an agent's `staticInstruction`. A cache that cannot be made or used is done without. Vertex AI has caches for a project only, not with an API key alone.
   * Not for live connections, nor for requests that name a `cachedContent`. Default: none.
   */
  readonly contextCache?: ContextCacheConfig | undefined;
  /**
   * How long a live connection may take until it is ready, in milliseconds, from the login to the server's answer to the setup. Default
   * 15,000; Infinity turns it off.
   */
  readonly connectMs?: number | undefined;
  /**
   * Is told every message of this model's live connections as it went over the wire, and when a socket opens and closes: what no Event shows.
   * Keys and tokens are replaced by `REDACTED`. It is called while the connection waits for it; what it throws is ignored.
   */
  readonly onLiveFrame?: ((frame: LiveFrame) => void) | undefined;
}

/** How long a call may take and how often it is tried. */
export interface CallLimits {
  readonly firstChunkMs: number;
  readonly idleMs: number;
  readonly totalMs: number;
  readonly attempts: number;
  readonly retryDelayMs: number;
}

/** How long a live connection may take and be silent. */
export interface LiveLimits {
  readonly connectMs: number;
  readonly idleMs: number;
}

const defaults: CallLimits = {firstChunkMs: 180_000, idleMs: 60_000, totalMs: 600_000, attempts: 3, retryDelayMs: 500};

type Check = readonly [expected: string, holds: (value: unknown) => boolean];

const text: Check = ['a string', (value) => typeof value === 'string'];
const object: Check = ['an object', (value) => typeof value === 'object' && value !== null && !Array.isArray(value)];
const duration: Check = ['a number of milliseconds above 0, or Infinity', (value) => typeof value === 'number' && value > 0];

const checks: Readonly<Record<keyof GeminiOptions, Check>> = {
  model: ['the name of a model', (value) => typeof value === 'string' && value !== ''],
  apiKey: text,
  vertexai: ['true or false', (value) => typeof value === 'boolean'],
  project: text,
  location: text,
  apiVersion: text,
  httpOptions: object,
  googleAuthOptions: object,
  firstChunkMs: duration,
  idleMs: duration,
  totalMs: duration,
  attempts: ['an integer of at least 1', (value) => Number.isInteger(value) && Number(value) >= 1],
  retryDelayMs: ['a number of milliseconds, at least 0', (value) => Number.isFinite(value) && Number(value) >= 0],
  contextCache: object,
  connectMs: duration,
  onLiveFrame: ['a function', (value) => typeof value === 'function'],
};

/** @throws {@link InvalidOptionError} on the first option that is unknown, of the wrong type, or at odds with another */
export function checkGeminiOptions(options: GeminiOptions): void {
  if (!object[1](options)) throw new InvalidOptionError('options', 'an object', options);
  if (options.model === undefined) throw new InvalidOptionError('model', checks.model[0], undefined);
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(checks, name))
      throw new InvalidOptionError(name, `absent: Gemini has only ${Object.keys(checks).join(', ')}`, value);
    const [expected, holds] = checks[name as keyof GeminiOptions];
    if (value !== undefined && !holds(value)) throw new InvalidOptionError(name, expected, value);
  }
  if (options.contextCache) checkContextCacheConfig(options.contextCache);
  if (options.vertexai !== false) return;
  for (const name of ['project', 'location', 'googleAuthOptions'] as const) {
    if (options[name] !== undefined) throw new InvalidOptionError(name, 'absent where `vertexai` is false', options[name]);
  }
}

/** The limits of one call: the model's own, and what the HTTP options of the model and of the request say. */
export function callLimits(options: GeminiOptions, request: HttpOptions | undefined): CallLimits {
  const {timeout, retryOptions} = {...options.httpOptions, ...request};
  return {
    firstChunkMs: options.firstChunkMs ?? defaults.firstChunkMs,
    idleMs: options.idleMs ?? defaults.idleMs,
    totalMs: Math.min(options.totalMs ?? defaults.totalMs, timeout !== undefined && timeout > 0 ? timeout : Infinity),
    attempts: retryOptions?.attempts ?? options.attempts ?? defaults.attempts,
    retryDelayMs: (retryOptions?.initialDelay ?? 0) * 1000 || (options.retryDelayMs ?? defaults.retryDelayMs),
  };
}

/** The limits of a live connection. */
export function liveLimits({connectMs = 15_000, idleMs = defaults.idleMs}: GeminiOptions): LiveLimits {
  return {connectMs, idleMs};
}
