import type {GenerationConfig, LiveClientSetup, LiveConnectConfig, SpeechConfig} from '@google/genai';

import type {Content, GenerateContentConfig} from '../../content.ts';
import type {LlmRequest} from '../../models/llm-request.ts';
import {cleanContent, cleanTools} from '../to-genai.ts';

/** A live config may hold what genai's setup message knows and its `LiveConnectConfig` does not. */
type LiveConfig = LiveConnectConfig & Pick<LiveClientSetup, 'historyConfig'>;

/** The fields that both a live config and the config of a call have. */
const shared = [
  'responseModalities',
  'temperature',
  'topP',
  'topK',
  'maxOutputTokens',
  'mediaResolution',
  'seed',
  'speechConfig',
  'thinkingConfig',
] as const;

/** The first message of a connection. */
export interface SetupMessage {
  readonly setup: LiveClientSetup;
}

/**
 * Describes the session. Only what is set is sent, and nothing that the backend does not know: it closes the connection at once for an
 * unknown field. The request is not changed.
 *
 * @param model - the resource name
 */
export function setupMessage(llmRequest: LlmRequest, model: string, vertexai: boolean): SetupMessage {
  const {config} = llmRequest;
  const live: LiveConfig = llmRequest.liveConnectConfig ?? {};
  const instruction = config.systemInstruction || live.systemInstruction;
  const tools = config.tools ?? live.tools ?? [];
  return {
    setup: {
      model,
      ...present({
        generationConfig: generationConfig(config, live, vertexai),
        systemInstruction: instruction ? cleanContent(contentOf(instruction), vertexai) : undefined,
        tools: tools.length > 0 ? cleanTools(tools) : undefined,
        sessionResumption: vertexai ? live.sessionResumption : without(live.sessionResumption, 'transparent'),
        inputAudioTranscription: live.inputAudioTranscription,
        outputAudioTranscription: live.outputAudioTranscription,
        realtimeInputConfig: live.realtimeInputConfig,
        contextWindowCompression: live.contextWindowCompression,
        proactivity: live.proactivity,
        explicitVadSignal: vertexai ? live.explicitVadSignal : undefined,
        historyConfig: live.historyConfig,
        avatarConfig: live.avatarConfig,
        safetySettings: safetySettings(live.safetySettings ?? config.safetySettings, vertexai),
        // The Gemini API refuses them on a call, where they come from, too.
        labels: live.labels ?? (vertexai ? config.labels : undefined),
      }),
    },
  };
}

/** Whether the server takes what is said first for history, up to the end of a turn, and does not reply to that. */
export function takesHistoryFirst({liveConnectConfig}: LlmRequest): boolean {
  const live: LiveConfig | undefined = liveConnectConfig;
  return live?.historyConfig?.initialHistoryInClientContent === true;
}

function generationConfig(config: GenerateContentConfig, live: LiveConfig, vertexai: boolean): GenerationConfig | undefined {
  const own = shared.map((name) => [name, live[name] ?? live.generationConfig?.[name] ?? config[name]] as const);
  const generation = present({
    // The Gemini API speaks by default; Vertex AI has to be told.
    ...(vertexai && {responseModalities: ['AUDIO']}),
    ...live.generationConfig,
    ...present(Object.fromEntries(own)),
    ...present({enableAffectiveDialog: live.enableAffectiveDialog, translationConfig: live.translationConfig}),
  }) as GenerationConfig;
  const speech: unknown = generation.speechConfig;
  if (typeof speech === 'string') generation.speechConfig = voice(speech);
  return Object.keys(generation).length > 0 ? generation : undefined;
}

function voice(voiceName: string): SpeechConfig {
  return {voiceConfig: {prebuiltVoiceConfig: {voiceName}}};
}

/** An instruction in any of the forms that genai takes. */
function contentOf(instruction: NonNullable<GenerateContentConfig['systemInstruction']>): Content {
  if (typeof instruction === 'object' && 'parts' in instruction && Array.isArray(instruction.parts)) return instruction;
  const parts = [instruction].flat() as readonly (string | NonNullable<Content['parts']>[number])[];
  return {role: 'user', parts: parts.map((part) => (typeof part === 'string' ? {text: part} : part))};
}

function safetySettings(given: LiveConnectConfig['safetySettings'], vertexai: boolean): LiveConnectConfig['safetySettings'] {
  return vertexai ? given : given?.map((setting) => without(setting, 'method') ?? setting);
}

function without<T extends object, K extends keyof T>(given: T | undefined, name: K): Omit<T, K> | undefined {
  if (given === undefined) return undefined;
  const {[name]: _, ...rest} = given;
  return rest;
}

/** What is set. `null` is not, as for genai. */
function present<T extends object>(values: T): {[K in keyof T]?: NonNullable<T[K]>} {
  const set = Object.entries(values).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(set) as {[K in keyof T]?: NonNullable<T[K]>};
}
