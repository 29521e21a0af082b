import {describe, expect, test} from 'vitest';

import type {LlmRequest} from '../../../lib/models/llm-request.ts';
import {GeminiLiveServer} from '../../../lib/testing/index.ts';
import {liveModelAt, silent, vertexModelAt} from './connecting.ts';

/** The first frame of a connection, as it went over the wire; the server refuses every field that Google's does not know. */
async function setupOf(backend: 'gemini' | 'vertex', request: Partial<LlmRequest>): Promise<string | undefined> {
  await using server = await GeminiLiveServer.start();
  const model = backend === 'gemini' ? liveModelAt(server) : vertexModelAt(server);
  await using connection = await model.connect(frozen({...silent, ...request}));
  await connection.close();
  const session = await server.nextSession();
  expect(session.refusal).toBeUndefined();
  expect(session.received[0]).toMatchObject({kind: 'setup', binary: false});
  return session.received[0]?.text;
}

async function parsedSetup(backend: 'gemini' | 'vertex', request: Partial<LlmRequest>): Promise<unknown> {
  return (JSON.parse((await setupOf(backend, request)) ?? '') as {setup: unknown}).setup;
}

function frozen<T>(value: T): T {
  if (typeof value === 'object' && value !== null) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
}

const vertexModel = 'projects/p/locations/us-central1/publishers/google/models/gemini-live-test';

describe('the setup message', () => {
  test('of an empty request holds the model alone; on Vertex AI also that it speaks, which the Gemini API does by default', async () => {
    expect(await setupOf('gemini', {})).toBe('{"setup":{"model":"models/gemini-live-test"}}');
    expect(await setupOf('vertex', {})).toBe(`{"setup":{"model":"${vertexModel}","generationConfig":{"responseModalities":["AUDIO"]}}}`);
  });

  test('holds all that a live config can say, byte for byte, from objects that are frozen', async () => {
    const text = await setupOf('gemini', {
      model: 'gemini-live-2.5-flash-preview',
      liveConnectConfig: {
        responseModalities: ['AUDIO' as never],
        temperature: 0.5,
        speechConfig: {voiceConfig: {prebuiltVoiceConfig: {voiceName: 'Puck'}}},
        thinkingConfig: {includeThoughts: true},
        enableAffectiveDialog: true,
        systemInstruction: 'si',
        tools: [
          {
            functionDeclarations: [
              {name: 'f', description: 'd', behavior: 'NON_BLOCKING' as never, parametersJsonSchema: {type: 'object'}},
            ],
          },
        ],
        sessionResumption: {},
        inputAudioTranscription: {},
        outputAudioTranscription: {},
        realtimeInputConfig: {automaticActivityDetection: {disabled: true}},
        contextWindowCompression: {slidingWindow: {targetTokens: '1000'}, triggerTokens: '2000'},
        proactivity: {proactiveAudio: true},
      },
    });
    // The order of genai's own fields, as it was measured.
    expect(text).toBe(
      '{"setup":{"model":"models/gemini-live-2.5-flash-preview","generationConfig":{"responseModalities":["AUDIO"],"temperature":0.5,' +
        '"speechConfig":{"voiceConfig":{"prebuiltVoiceConfig":{"voiceName":"Puck"}}},"thinkingConfig":{"includeThoughts":true},' +
        '"enableAffectiveDialog":true},"systemInstruction":{"role":"user","parts":[{"text":"si"}]},"tools":[{"functionDeclarations":' +
        '[{"name":"f","description":"d","behavior":"NON_BLOCKING","parametersJsonSchema":{"type":"object"}}]}],"sessionResumption":{},' +
        '"inputAudioTranscription":{},"outputAudioTranscription":{},"realtimeInputConfig":{"automaticActivityDetection":{"disabled":true}},' +
        '"contextWindowCompression":{"slidingWindow":{"targetTokens":"1000"},"triggerTokens":"2000"},"proactivity":{"proactiveAudio":true}}}',
    );
  });

  test('holds the rest of what both backends know', async () => {
    const rest = {
      topP: 0.9,
      topK: 40,
      maxOutputTokens: 100,
      mediaResolution: 'MEDIA_RESOLUTION_LOW' as never,
      seed: 7,
      labels: {team: 'a'},
      safetySettings: [{category: 'HARM_CATEGORY_HARASSMENT' as never, threshold: 'BLOCK_NONE' as never}],
      historyConfig: {initialHistoryInClientContent: true},
    };
    const {labels, safetySettings, historyConfig, ...generationConfig} = rest;
    const expected = {generationConfig, labels, safetySettings, historyConfig};
    expect(await parsedSetup('gemini', {liveConnectConfig: rest})).toEqual({model: 'models/gemini-live-test', ...expected});
    expect(await parsedSetup('vertex', {liveConnectConfig: rest})).toEqual({
      model: vertexModel,
      ...expected,
      generationConfig: {responseModalities: ['AUDIO'], ...generationConfig},
    });
  });

  test('leaves out what only Vertex AI knows where it goes to the Gemini API', async () => {
    const liveConnectConfig = {
      explicitVadSignal: true,
      sessionResumption: {transparent: true},
      safetySettings: [{method: 'SEVERITY' as never, threshold: 'BLOCK_NONE' as never}],
    };
    expect(await parsedSetup('gemini', {liveConnectConfig})).toEqual({
      model: 'models/gemini-live-test',
      sessionResumption: {},
      safetySettings: [{threshold: 'BLOCK_NONE'}],
    });
    expect(await parsedSetup('vertex', {liveConnectConfig})).toMatchObject(liveConnectConfig);
  });

  test('takes from the config of a call what is not said for live, and nothing that a setup does not know', async () => {
    const setup = await parsedSetup('gemini', {
      config: {
        temperature: 0.1,
        topP: 0.2,
        seed: 0,
        speechConfig: 'Kore',
        responseModalities: ['TEXT'],
        thinkingConfig: {thinkingBudget: 0},
        responseMimeType: 'application/json',
        toolConfig: {functionCallingConfig: {mode: 'ANY' as never}},
        labels: {team: 'a'},
        automaticFunctionCalling: {disable: true},
        abortSignal: AbortSignal.timeout(60_000),
      },
      liveConnectConfig: {temperature: 0.9, topP: undefined} as never,
    });
    expect(setup).toEqual({
      model: 'models/gemini-live-test',
      generationConfig: {
        temperature: 0.9,
        topP: 0.2,
        seed: 0,
        speechConfig: {voiceConfig: {prebuiltVoiceConfig: {voiceName: 'Kore'}}},
        responseModalities: ['TEXT'],
        thinkingConfig: {thinkingBudget: 0},
      },
    });
  });

  test('merges a `generationConfig`, in which the fields beside it win', async () => {
    const liveConnectConfig = {generationConfig: {temperature: 0.1, topP: 0.3, candidateCount: 1}, temperature: 0.2};
    const config = {temperature: 0.9, topP: 0.9};
    expect(await parsedSetup('gemini', {config, liveConnectConfig})).toMatchObject({
      generationConfig: {temperature: 0.2, topP: 0.3, candidateCount: 1},
    });
  });

  test.each([
    {what: 'a string', systemInstruction: 'be brief', parts: [{text: 'be brief'}]},
    {what: 'a part', systemInstruction: {text: 'be brief'}, parts: [{text: 'be brief'}]},
    {what: 'a list', systemInstruction: ['be', {text: 'brief'}, {text: ''}], parts: [{text: 'be'}, {text: 'brief'}]},
    {what: 'a content', systemInstruction: {role: 'user', parts: [{text: 'be brief'}]}, parts: [{text: 'be brief'}]},
  ])('has an instruction that is $what as a content, and the one of the config wins', async ({systemInstruction, parts}) => {
    const request = {config: {systemInstruction}, liveConnectConfig: {systemInstruction: 'other'}};
    expect(await parsedSetup('gemini', request)).toMatchObject({systemInstruction: {role: 'user', parts}});
  });

  test.each(['', [], [{text: ''}], {role: 'user', parts: []}])('has no instruction where it is %j', async (systemInstruction) => {
    expect(await parsedSetup('gemini', {config: {systemInstruction}})).toEqual({model: 'models/gemini-live-test'});
  });

  test('has schemas in the shape that Gemini reads, and the tools of the config', async () => {
    const parametersJsonSchema = {type: 'object', properties: {a: {const: 'x'}}, $schema: 'https://json-schema.org/draft/2020-12/schema'};
    const tools = [{functionDeclarations: [{name: 'f', parametersJsonSchema}]}, {googleSearch: {}}];
    expect(await parsedSetup('gemini', {config: {tools}, liveConnectConfig: {tools: [{codeExecution: {}}]}})).toMatchObject({
      tools: [
        {functionDeclarations: [{name: 'f', parametersJsonSchema: {type: 'object', properties: {a: {type: 'string', enum: ['x']}}}}]},
        {googleSearch: {}},
      ],
    });
    expect(await parsedSetup('gemini', {config: {tools: []}})).toEqual({model: 'models/gemini-live-test'});
  });
});
