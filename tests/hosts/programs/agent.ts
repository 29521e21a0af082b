// What every host serves: an agent on Gemini's HTTP protocol and on its live one, with what it stored to be asked for.
import {InMemorySessionService, LlmAgent, Runner, StreamingMode} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {createHandler, type Handler} from 'sluice/serve';

/** @param baseUrl - of the server that speaks Gemini's protocol */
export function handlerFor(baseUrl: string, heartbeatMs?: number): Handler {
  const options = {apiKey: 'test', httpOptions: {baseUrl}};
  const sessionService = new InMemorySessionService();
  const runnerFor = (appName: string, model: string): Runner =>
    new Runner({
      appName,
      agent: new LlmAgent({name: 'root', model: new Gemini({model, ...options})}),
      sessionService,
      autoCreateSession: true,
      runConfig: {streamingMode: StreamingMode.SSE, responseModalities: ['TEXT']},
    });
  const runners = [runnerFor('app', 'gemini-2.5-flash'), runnerFor('live', 'gemini-2.5-flash-native-audio-latest')];
  return createHandler({runners, heartbeatMs});
}
