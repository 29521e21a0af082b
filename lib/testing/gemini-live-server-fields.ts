/**
 * What the messages of a live client may hold, in the form of the table in gemini-server-fields.ts, which holds the types that they share.
 *
 * @see {@link https://ai.google.dev/api/live}
 */
export const liveMessages: Readonly<Record<string, string>> = {
  BidiGenerateContentClientMessage:
    'setup:BidiGenerateContentSetup clientContent:BidiGenerateContentClientContent realtimeInput:BidiGenerateContentRealtimeInput ' +
    'toolResponse:BidiGenerateContentToolResponse contextUpdate:BidiGenerateContentContextUpdate',
  BidiGenerateContentSetup:
    'model generationConfig:GenerationConfig systemInstruction:Content tools[]:Tool realtimeInputConfig:RealtimeInputConfig ' +
    'sessionResumption:SessionResumptionConfig contextWindowCompression:ContextWindowCompressionConfig inputAudioTranscription:* ' +
    'outputAudioTranscription:* proactivity:* historyConfig:* avatarConfig:* safetySettings[]:SafetySetting labels:*',
  BidiGenerateContentClientContent: 'turns[]:Content turnComplete',
  BidiGenerateContentRealtimeInput: 'mediaChunks[]:Blob audio:Blob video:Blob text activityStart:{} activityEnd:{} audioStreamEnd',
  BidiGenerateContentToolResponse: 'functionResponses[]:FunctionResponse',
  BidiGenerateContentContextUpdate: 'systemInstruction:Content tools:*',
  RealtimeInputConfig: 'automaticActivityDetection:AutomaticActivityDetection activityHandling turnCoverage',
  AutomaticActivityDetection: 'disabled startOfSpeechSensitivity endOfSpeechSensitivity prefixPaddingMs silenceDurationMs',
  SessionResumptionConfig: 'handle transparent',
  ContextWindowCompressionConfig: 'triggerTokens slidingWindow:SlidingWindow',
  SlidingWindow: 'targetTokens',
};

/** What Vertex takes besides. */
export const liveVertexOnly: Readonly<Record<string, string>> = {
  BidiGenerateContentSetup: 'explicitVadSignal',
};
