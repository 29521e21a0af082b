import {InvalidOptionError} from '../../errors.ts';
import type {GeminiTarget} from '../gemini-target.ts';

/** Ephemeral tokens stand in the place of an API key and are told by this. */
const tokenPrefix = 'auth_tokens/';

/** Only this version knows ephemeral tokens. */
const tokenVersion = 'v1alpha';

/** Locations that stand for several regions have hosts of another form. */
const multiRegions = new Set(['us', 'eu']);

/**
 * Where to connect to. The key of the Gemini API stands in it.
 *
 * @throws {@link InvalidOptionError} if the base URL is none
 */
export function liveUrl(target: GeminiTarget): URL {
  const {vertexai, apiKey, project, httpOptions} = target;
  const base = baseUrl(httpOptions.baseUrl ?? `https://${hostOf(target)}`);
  const {apiVersion} = httpOptions;
  if (vertexai) {
    // As genai has it: a URL of the caller's own without a login is taken as it is.
    if (apiKey === undefined && project === undefined) return base;
    return within(base, `google.cloud.aiplatform.${apiVersion}.LlmBidiService/BidiGenerateContent`);
  }
  const token = apiKey?.startsWith(tokenPrefix) === true;
  const version = token ? tokenVersion : apiVersion;
  const method = token ? 'BidiGenerateContentConstrained' : 'BidiGenerateContent';
  const url = within(base, `google.ai.generativelanguage.${version}.GenerativeService.${method}`);
  // Not by `searchParams`, which would escape the slash of a token and write anew what the caller's query holds.
  url.search += `${url.search === '' ? '?' : '&'}${token ? 'access_token' : 'key'}=${escapeKey(apiKey ?? '')}`;
  return url;
}

/** A key as it stands in the URL: the slash of an ephemeral token as it is, the apostrophe as `URL` itself would escape it. */
export function escapeKey(key: string): string {
  return encodeURIComponent(key).replaceAll('%2F', '/').replaceAll("'", '%27');
}

/** The model's resource name, as the setup message wants it. */
export function modelResource(model: string, {vertexai, project, location}: GeminiTarget): string {
  if (!vertexai) return /^(models|tunedModels)\//.test(model) ? model : `models/${model}`;
  if (/^(projects|models)\//.test(model)) return model;
  const [publisher = '', ...name] = model.split('/');
  const long = name.length === 0 ? `google/models/${model}` : `${publisher}/models/${name.join('/')}`;
  const published = model.startsWith('publishers/') ? model : `publishers/${long}`;
  return project === undefined ? published : `projects/${project}/locations/${location}/${published}`;
}

function hostOf({vertexai, project, location}: GeminiTarget): string {
  if (!vertexai) return 'generativelanguage.googleapis.com';
  if (project === undefined || location === undefined || location === 'global') return 'aiplatform.googleapis.com';
  return multiRegions.has(location) ? `aiplatform.${location}.rep.googleapis.com` : `${location}-aiplatform.googleapis.com`;
}

function baseUrl(given: string): URL {
  const url = URL.parse(given);
  const protocol = url === null ? undefined : {'http:': 'ws:', 'https:': 'wss:', 'ws:': 'ws:', 'wss:': 'wss:'}[url.protocol];
  if (url === null || protocol === undefined) throw new InvalidOptionError('httpOptions.baseUrl', 'a URL of http, https, ws or wss', given);
  url.protocol = protocol;
  url.hash = '';
  return url;
}

function within(base: URL, path: string): URL {
  const url = new URL(base);
  url.pathname = `${base.pathname.replace(/\/+$/, '')}/ws/${path}`;
  return url;
}
