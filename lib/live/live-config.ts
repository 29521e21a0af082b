import type {ResolvedRunConfig} from '../agents/run-config.ts';
import type {LiveConnectConfig} from '../content.ts';
import {expectOption} from '../errors.ts';
import {isRecord} from '../schema/is-record.ts';
import {copyJson} from '../schema/json-copy.ts';

const MODALITIES = ['AUDIO', 'TEXT'];

const OBJECTS = [
  'speechConfig',
  'proactivity',
  'realtimeInputConfig',
  'contextWindowCompression',
  'avatarConfig',
  'translationConfig',
  'inputAudioTranscription',
  'outputAudioTranscription',
  'sessionResumption',
] as const;

const FLAGS = ['enableAffectiveDialog', 'explicitVadSignal', 'saveLiveBlob'] as const;

/**
 * What a live run asks of its connection.
 *
 * @throws {@link InvalidOptionError} for a value that no connection could use
 */
export function liveConnectConfig(config: ResolvedRunConfig, handle: string | undefined): LiveConnectConfig {
  check(config);
  const {responseModalities = ['AUDIO'], inputAudioTranscription, outputAudioTranscription, sessionResumption} = config;
  const isUsable = handle === undefined || sessionResumption !== false;
  expectOption(isUsable, 'request.liveSessionResumptionHandle', 'left out, as runConfig.sessionResumption is false', handle);
  const spoken = responseModalities[0] === 'AUDIO';
  const asked: {[K in keyof LiveConnectConfig]: LiveConnectConfig[K] | undefined} = {
    responseModalities: [...responseModalities] as NonNullable<LiveConnectConfig['responseModalities']>,
    // Without these nothing of what was said could be stored.
    inputAudioTranscription: inputAudioTranscription === false ? undefined : (inputAudioTranscription ?? {}),
    outputAudioTranscription: outputAudioTranscription === false ? undefined : (outputAudioTranscription ?? (spoken ? {} : undefined)),
    sessionResumption: sessionResumption === false ? undefined : {...sessionResumption, ...(handle !== undefined && {handle})},
    speechConfig: config.speechConfig,
    enableAffectiveDialog: config.enableAffectiveDialog,
    proactivity: config.proactivity,
    realtimeInputConfig: config.realtimeInputConfig,
    contextWindowCompression: config.contextWindowCompression,
    explicitVadSignal: config.explicitVadSignal,
    avatarConfig: config.avatarConfig,
    translationConfig: config.translationConfig,
  };
  // The copy leaves out what is undefined.
  return copyJson(asked) as LiveConnectConfig;
}

function check(config: ResolvedRunConfig): void {
  const responseModalities: unknown = config.responseModalities;
  const isModality = responseModalities === undefined || (Array.isArray(responseModalities) && responseModalities.length === 1);
  expectOption(isModality, 'runConfig.responseModalities', 'a list of one modality, ["AUDIO"] or ["TEXT"]', responseModalities);
  const [modality] = (responseModalities ?? ['AUDIO']) as readonly unknown[];
  const isKnown = typeof modality === 'string' && MODALITIES.includes(modality);
  expectOption(isKnown, 'runConfig.responseModalities', `one of ${MODALITIES.join(', ')}`, modality);
  for (const key of OBJECTS) {
    const value = config[key];
    const mayBeOff = key.endsWith('Transcription') || key === 'sessionResumption';
    const fits = value === undefined || isRecord(value) || (mayBeOff && value === false);
    expectOption(fits, `runConfig.${key}`, mayBeOff ? 'an object, or false' : 'an object', value);
  }
  for (const key of FLAGS) {
    expectOption(config[key] === undefined || typeof config[key] === 'boolean', `runConfig.${key}`, 'a boolean', config[key]);
  }
}
