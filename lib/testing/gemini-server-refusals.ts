import {contentsFlaw, type WireContent} from './gemini-server-contents.ts';
import {readMessage, type FieldViolation} from './gemini-server-json.ts';
import type {GeminiFailure} from './gemini-server-replies.ts';
import {isGemini3, type GeminiRequest} from './gemini-server-request.ts';

export interface RefusalOptions {
  /** The one key that is valid; any where it is `undefined`. */
  readonly apiKey: string | undefined;
  /** Whether the body is looked at, and not only the headers. */
  readonly strict: boolean;
}

interface WireRequest {
  readonly contents?: readonly WireContent[];
  readonly tools?: readonly {readonly functionDeclarations?: readonly WireDeclaration[]}[];
  readonly toolConfig?: {readonly functionCallingConfig?: {readonly mode?: string; readonly allowedFunctionNames?: readonly string[]}};
}

interface WireDeclaration {
  readonly name?: string;
  readonly parameters?: object;
  readonly parametersJsonSchema?: unknown;
}

/** Google's refusal of a request; `undefined` where Google would serve it. */
export function refusalOf(request: GeminiRequest, {apiKey, strict}: RefusalOptions): GeminiFailure | undefined {
  return keyRefusal(request, apiKey) ?? deadlineRefusal(request) ?? (strict ? (modelRefusal(request) ?? bodyRefusal(request)) : undefined);
}

function keyRefusal({headers, query, path}: GeminiRequest, apiKey: string | undefined): GeminiFailure | undefined {
  const given = headers['x-goog-api-key'] || query.get('key');
  if (path.includes('/projects/') && headers.authorization?.startsWith('Bearer ')) return undefined;
  if (!given) {
    const message =
      "Method doesn't allow unregistered callers (callers without established identity). " +
      'Please use API Key or other form of API consumer identity to call this API.';
    return {code: 403, message};
  }
  if (apiKey === undefined || given === apiKey) return undefined;
  const message = 'API key not valid. Please pass a valid API key.';
  const metadata = {service: 'generativelanguage.googleapis.com'};
  return {
    code: 400,
    message,
    details: [
      {'@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID', domain: 'googleapis.com', metadata},
      {'@type': 'type.googleapis.com/google.rpc.LocalizedMessage', locale: 'en-US', message},
    ],
  };
}

function deadlineRefusal({headers}: GeminiRequest): GeminiFailure | undefined {
  const seconds = headers['x-server-timeout'];
  if (seconds === undefined || Number(seconds) >= 10) return undefined;
  return {code: 400, message: `Manually set deadline ${String(seconds)}s is too short. Minimum allowed deadline is 10s.`};
}

function modelRefusal({model, apiVersion, action}: GeminiRequest): GeminiFailure | undefined {
  if (apiVersion !== 'v1' || !model.endsWith('-latest')) return undefined;
  const method = action === 'streamGenerateContent' ? 'generateContent' : action;
  const message =
    `models/${model} is not found for API version ${apiVersion}, or is not supported for ${method}. ` +
    'Call ModelService.ListModels to see the list of available models and their supported methods.';
  return {code: 404, message};
}

function bodyRefusal({action, backend, body, bodyText, model}: GeminiRequest): GeminiFailure | undefined {
  if (!/^(?:stream)?[gG]enerateContent$/.test(action)) return undefined;
  if (bodyText.trim() === '' || !isJsonObject(bodyText)) {
    return {code: 400, message: `Invalid JSON payload received. Unexpected token.\n${bodyText.slice(0, 40)}\n^`};
  }
  const violations: FieldViolation[] = [];
  const read = readMessage(body, 'GenerateContentRequest', backend, violations) as WireRequest;
  if (violations.length > 0) return badRequest(violations.map(({description}) => description).join('\n'), violations);
  const flaw = toolsFlaw(read) ?? contentsFlaw(read.contents ?? [], isGemini3(model));
  return flaw === undefined ? undefined : {code: 400, message: flaw};
}

function isJsonObject(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value);
  } catch {
    return false;
  }
}

function badRequest(message: string, fieldViolations: readonly FieldViolation[]): GeminiFailure {
  return {code: 400, message, details: [{'@type': 'type.googleapis.com/google.rpc.BadRequest', fieldViolations}]};
}

function toolsFlaw({tools = [], toolConfig}: WireRequest): string | undefined {
  const names = new Set<string>();
  for (const [at, {functionDeclarations = []}] of tools.entries()) {
    for (const [index, {name = '', parameters, parametersJsonSchema}] of functionDeclarations.entries()) {
      const path = `GenerateContentRequest.tools[${at}].function_declarations[${index}]`;
      if (!/^[A-Za-z_][A-Za-z0-9_.:-]{0,127}$/.test(name)) return `* ${path}.name: Invalid function name: ${name}\n`;
      if (names.has(name)) return `Duplicate function declaration found: ${name}`;
      if (parameters && parametersJsonSchema !== undefined) {
        return `* ${path}: parameters and parameters_json_schema are mutually exclusive\n`;
      }
      names.add(name);
    }
  }
  const {mode = 'AUTO', allowedFunctionNames = []} = toolConfig?.functionCallingConfig ?? {};
  if (allowedFunctionNames.length === 0 || mode === 'ANY' || mode === 'VALIDATED') return undefined;
  return 'Please set allowed_function_names only when function calling mode is ANY or VALIDATED.';
}
