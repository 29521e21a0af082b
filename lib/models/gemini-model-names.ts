/** Names that `sluice/gemini` serves: Gemini and Gemma models, tuned models and endpoints, short or as resource names. */
export const geminiModelNames: readonly RegExp[] = [
  /((models|google|(projects\/[^/]+\/locations\/[^/]+\/)?publishers\/google\/models)\/)?(gemini|gemma)-.+/,
  /(projects\/[^/]+\/locations\/[^/]+\/endpoints|tunedModels)\/.+/,
];
