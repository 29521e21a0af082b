import type {GoogleGenAIOptions, HttpOptions} from '@google/genai';

import {ModelError} from '../errors.ts';
import type {GeminiOptions} from './gemini-options.ts';

/** Whom to talk to and how to log in: what the options and the environment say together, as genai's constructor takes it. */
export interface GeminiTarget extends GoogleGenAIOptions {
  readonly vertexai: boolean;
  readonly httpOptions: HttpOptions & {readonly apiVersion: string};
}

/**
 * Reads the environment here, since genai's web entry does not.
 *
 * @throws {@link ModelError} `MISSING_API_KEY` if neither the options nor the environment say how to log in
 */
export function targetOf(options: GeminiOptions): GeminiTarget {
  const {project, location, googleAuthOptions} = options;
  const asksForVertex = Boolean(project || location || googleAuthOptions);
  const vertexai = options.vertexai ?? (asksForVertex || vertexaiFromEnvironment());
  const httpOptions = httpOptionsOf(options, vertexai);
  return vertexai ? vertexTarget(options, asksForVertex, httpOptions) : {vertexai, apiKey: requireApiKey(options), httpOptions};
}

/** What is given to the constructor wins over the environment, and there a project wins over a key. */
function vertexTarget(options: GeminiOptions, asksForProject: boolean, httpOptions: GeminiTarget['httpOptions']): GeminiTarget {
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
function httpOptionsOf(options: GeminiOptions, vertexai: boolean): GeminiTarget['httpOptions'] {
  const httpOptions: HttpOptions = {...options.httpOptions};
  // genai's own total timeout kills healthy streams, and its retries cannot be aborted.
  delete httpOptions.timeout;
  delete httpOptions.retryOptions;
  const baseUrl = httpOptions.baseUrl || env(vertexai ? 'GOOGLE_VERTEX_BASE_URL' : 'GOOGLE_GEMINI_BASE_URL');
  if (baseUrl === undefined) delete httpOptions.baseUrl;
  else httpOptions.baseUrl = baseUrl;
  return {...httpOptions, apiVersion: options.apiVersion ?? httpOptions.apiVersion ?? apiVersionFromEnvironment(vertexai)};
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
