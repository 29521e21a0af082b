import type {GoogleGenAIOptions, HttpOptions, Models} from '@google/genai';

import {ModelError} from '../errors.ts';
import type {GeminiOptions} from './gemini-options.ts';

/** What an adapter needs of a genai client. */
export interface GeminiClient {
  readonly models: Pick<Models, 'generateContent' | 'generateContentStream'>;
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
    return {models: new GoogleGenAI(target).models, vertexai: target.vertexai};
  }
  const {GoogleGenAI} = await import('@google/genai');
  return {models: new GoogleGenAI(target).models, vertexai: target.vertexai};
}

type Target = GoogleGenAIOptions & {readonly vertexai: boolean};

/** Reads the environment here, since genai's web entry does not. */
function targetOf(options: GeminiOptions): Target {
  const {project, location, googleAuthOptions} = options;
  const asksForVertex = Boolean(project || location || googleAuthOptions);
  const vertexai = options.vertexai ?? (asksForVertex || vertexaiFromEnvironment());
  const httpOptions = httpOptionsOf(options, vertexai);
  return vertexai ? vertexTarget(options, asksForVertex, httpOptions) : {vertexai, apiKey: requireApiKey(options), httpOptions};
}

/** What is given to the constructor wins over the environment, and there a project wins over a key. */
function vertexTarget(options: GeminiOptions, asksForProject: boolean, httpOptions: HttpOptions): Target {
  const explicitKey = options.apiKey || undefined;
  const environment = explicitKey === undefined || asksForProject;
  const project = options.project || (environment ? env('GOOGLE_CLOUD_PROJECT') : undefined);
  const location = options.location || (environment ? env('GOOGLE_CLOUD_LOCATION') : undefined);
  const byProject = asksForProject || project !== undefined || location !== undefined;
  const apiKey = explicitKey ?? (byProject ? undefined : env('GOOGLE_API_KEY', 'GEMINI_API_KEY'));
  if (apiKey === undefined && project === undefined && httpOptions.baseUrl === undefined) throw missingLogin();
  return {
    vertexai: true,
    httpOptions,
    ...(apiKey !== undefined && {apiKey}),
    ...(project !== undefined && {project, location: location ?? 'global'}),
    ...(options.googleAuthOptions !== undefined && {googleAuthOptions: options.googleAuthOptions}),
  };
}

function requireApiKey(options: GeminiOptions): string {
  const apiKey = options.apiKey || env('GOOGLE_API_KEY', 'GEMINI_API_KEY');
  if (apiKey !== undefined) return apiKey;
  const message =
    'No API key for the Gemini API: neither the option `apiKey` nor the environment variable GOOGLE_API_KEY or GEMINI_API_KEY is set. ' +
    'For Vertex AI set the options `vertexai` and `project`, or GOOGLE_GENAI_USE_VERTEXAI=true and GOOGLE_CLOUD_PROJECT.';
  throw new ModelError(message, {code: 'MISSING_API_KEY'});
}

function missingLogin(): ModelError {
  const message =
    'No login for Vertex AI: neither the options `project` and `location` nor `apiKey` is set, nor are the environment variables ' +
    'GOOGLE_CLOUD_PROJECT and GOOGLE_CLOUD_LOCATION, nor GOOGLE_API_KEY or GEMINI_API_KEY.';
  return new ModelError(message, {code: 'MISSING_API_KEY'});
}

/** A copy, since genai writes into the object that it is given. */
function httpOptionsOf(options: GeminiOptions, vertexai: boolean): HttpOptions {
  const httpOptions: HttpOptions = {...options.httpOptions};
  // genai's own total timeout kills healthy streams, and its retries cannot be aborted.
  delete httpOptions.timeout;
  delete httpOptions.retryOptions;
  const baseUrl = httpOptions.baseUrl || env(vertexai ? 'GOOGLE_VERTEX_BASE_URL' : 'GOOGLE_GEMINI_BASE_URL');
  if (baseUrl === undefined) delete httpOptions.baseUrl;
  else httpOptions.baseUrl = baseUrl;
  httpOptions.apiVersion = options.apiVersion ?? httpOptions.apiVersion ?? apiVersionFromEnvironment(vertexai);
  return httpOptions;
}

function apiVersionFromEnvironment(vertexai: boolean): string {
  const version = env('GOOGLE_GENAI_API_VERSION') ?? 'beta';
  if (version !== 'beta') return version;
  return vertexai ? 'v1beta1' : 'v1beta';
}

function vertexaiFromEnvironment(): boolean {
  const flag = env('GOOGLE_GENAI_USE_ENTERPRISE', 'GOOGLE_GENAI_USE_VERTEXAI')?.toLowerCase();
  return flag === 'true' || flag === '1';
}

/** The first of these variables that is set and not blank; none where the host has no environment. */
function env(...names: readonly string[]): string | undefined {
  const host: {process?: {env?: Record<string, string | undefined>}} = globalThis;
  for (const name of names) {
    const value = host.process?.env?.[name]?.trim();
    if (value) return value;
  }
  return undefined;
}
