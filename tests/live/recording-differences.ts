/** Where recorded clients did otherwise than a live run does: what they did, in which sessions, and what a run sends instead. */
import type {Content} from 'sluice';
import {isOutOfTheBlue, type ClientMessage, type ClientSetup, type RecordedSession} from './recording-sessions.ts';

export interface Difference {
  /** What the recorded client did, and why a run does not. */
  readonly why: string;
  /** Parts of the names of the sessions. */
  readonly sessions: readonly string[];
  /** What a run sends in place of these recorded messages. */
  rewrite(messages: readonly ClientMessage[], session: RecordedSession): readonly ClientMessage[];
}

/** The differences that a session has. */
export function differencesIn({id}: RecordedSession): readonly Difference[] {
  return Object.values(differences).filter(({sessions}) => sessions.some((name) => id.includes(name)));
}

export const differences: Readonly<Record<string, Difference>> = {
  leftToTheServer: {
    why: 'It did not say whether it wanted sound or text, and was given sound. A run always says it.',
    sessions: [
      'ML_Dev_should_receive_transcription',
      'ML_Dev_should_return_error',
      'ML_Dev_should_send_',
      'dotnet-genai/ErrorHandlingTests',
      'SendClientContentSimpleTextGeminiTest',
      'SendClientContentToolsVertexTest',
      'SendToolResponseFunctionResponseVertexTest',
    ],
    rewrite: (messages) =>
      eachSetup(messages, (setup) =>
        setup.generationConfig?.responseModalities ? setup : {...setup, generationConfig: {responseModalities: ['AUDIO']}},
      ),
  },
  instructionWithoutRole: {
    why: 'Its instruction had no role. A run sends it as the SDK of the other recorded clients does, with that of the user.',
    sessions: ['SendClientContentSystemInstruction'],
    rewrite: (messages) =>
      eachSetup(messages, (setup) =>
        setup.systemInstruction ? {...setup, systemInstruction: {role: 'user', ...setup.systemInstruction}} : setup,
      ),
  },
  turnWithoutRole: {
    why: 'Its turn had no role. What a run passes on from the user says so.',
    sessions: ['SendClientContentSystemInstructionVertexTest', 'SendClientContentToolsVertexTest'],
    rewrite: (messages) =>
      messages.map(({clientContent, ...message}) => {
        const turns = clientContent?.turns?.map((turn): Content => ({role: 'user', ...turn}));
        return turns ? {...message, clientContent: {...clientContent, turns}} : message;
      }),
  },
  mediaChunks: {
    why: 'It sent sound in the field of a time when there was no `audio`, which is deprecated.',
    sessions: ['media-audio_input'],
    rewrite: (messages) =>
      messages.map((message) => {
        const [audio] = message.realtimeInput?.mediaChunks ?? [];
        return audio ? {realtimeInput: {audio}} : message;
      }),
  },
  answerOutOfTheBlue: {
    why: 'It answered a call that nobody had made, most often without an id. A run refuses such an answer before it is sent.',
    sessions: [
      'should_send_tool_response_with_function_responses',
      'Vertex_should_return_error_for_invalid_input',
      'SendToolResponseFunctionResponseVertexTest',
    ],
    rewrite: (messages, session) => messages.filter((message) => !isOutOfTheBlue(session, message)),
  },
  microphoneLeftOn: {
    why: 'It waited for the answer without saying that no more sound would come. A run says so when its queue is closed.',
    sessions: ['test_audio_in_server_vad_turn'],
    rewrite: (messages) => [...messages, {realtimeInput: {audioStreamEnd: true}}],
  },
  serverOnly: {
    why: 'Only what the server sent was recorded. The setup is what a run asks for by itself: sound, what was said as text, resumption.',
    sessions: ['google-live-speech-translation'],
    rewrite: () => [
      {
        setup: {
          model: 'models/gemini-live-test',
          generationConfig: {responseModalities: ['AUDIO']},
          inputAudioTranscription: {},
          outputAudioTranscription: {},
          sessionResumption: {},
        },
      },
    ],
  },
};

function eachSetup(messages: readonly ClientMessage[], change: (setup: ClientSetup) => ClientSetup): readonly ClientMessage[] {
  return messages.map((message) => (message.setup ? {setup: change(message.setup)} : message));
}
