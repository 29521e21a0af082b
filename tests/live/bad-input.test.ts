import {describe, expect, test} from 'vitest';
import {
  BaseAgent,
  FunctionTool,
  InMemoryArtifactService,
  InvalidOptionError,
  LongRunningFunctionTool,
  SessionNotFoundError,
  StreamingMode,
  type Event,
  type RunConfig,
} from 'sluice';
import {ScriptedLlm} from 'sluice/testing';
import type {LiveRunRequest} from '../../lib/runner/live-run-request.ts';
import {liveStage} from './kit.ts';

/** What a run ends with that must not connect, nor store anything. */
async function refusal(options: Partial<LiveRunRequest>, stageOptions: Parameters<typeof liveStage>[0] = {}): Promise<unknown> {
  await using it = await liveStage(stageOptions);
  const {error, events, outcome} = await it.read(options).end;
  expect(events).toEqual([]);
  expect(outcome).toMatchObject({kind: 'error', llmCalls: 0});
  expect(it.server.sessions).toEqual([]);
  expect(await it.stored()).toEqual([]);
  return error;
}

describe('a live run is refused before it connects', () => {
  test.each<[RunConfig, string]>([
    [{responseModalities: ['VIDEO']}, 'Expected `runConfig.responseModalities` to be one of AUDIO, TEXT, got "VIDEO" (string)'],
    [{responseModalities: ['audio']}, 'Expected `runConfig.responseModalities` to be one of AUDIO, TEXT, got "audio" (string)'],
    [
      {responseModalities: ['AUDIO', 'TEXT']},
      'Expected `runConfig.responseModalities` to be a list of one modality, ["AUDIO"] or ["TEXT"], got an array of 2',
    ],
    [
      {responseModalities: []},
      'Expected `runConfig.responseModalities` to be a list of one modality, ["AUDIO"] or ["TEXT"], got an array of 0',
    ],
    [
      {responseModalities: 'AUDIO' as never},
      'Expected `runConfig.responseModalities` to be a list of one modality, ["AUDIO"] or ["TEXT"], got "AUDIO" (string)',
    ],
    [{speechConfig: 'Puck' as never}, 'Expected `runConfig.speechConfig` to be an object, got "Puck" (string)'],
    [{proactivity: true as never}, 'Expected `runConfig.proactivity` to be an object, got true (boolean)'],
    [{realtimeInputConfig: [] as never}, 'Expected `runConfig.realtimeInputConfig` to be an object, got an array of 0'],
    [{contextWindowCompression: 5 as never}, 'Expected `runConfig.contextWindowCompression` to be an object, got 5 (number)'],
    [{avatarConfig: 'cat' as never}, 'Expected `runConfig.avatarConfig` to be an object, got "cat" (string)'],
    [{translationConfig: null as never}, 'Expected `runConfig.translationConfig` to be an object, got null'],
    [
      {inputAudioTranscription: true as never},
      'Expected `runConfig.inputAudioTranscription` to be an object, or false, got true (boolean)',
    ],
    [
      {outputAudioTranscription: 'yes' as never},
      'Expected `runConfig.outputAudioTranscription` to be an object, or false, got "yes" (string)',
    ],
    [{sessionResumption: 'h' as never}, 'Expected `runConfig.sessionResumption` to be an object, or false, got "h" (string)'],
    [{enableAffectiveDialog: 'yes' as never}, 'Expected `runConfig.enableAffectiveDialog` to be a boolean, got "yes" (string)'],
    [{explicitVadSignal: 1 as never}, 'Expected `runConfig.explicitVadSignal` to be a boolean, got 1 (number)'],
    [{liveBufferBytes: 0}, 'liveBufferBytes'],
    [{responseModality: ['AUDIO']} as never, 'responseModality'],
  ])('with %j', async (runConfig, message) => {
    const error = await refusal({runConfig});
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({message: expect.stringContaining(message)});
  });

  test.each<[string, unknown, string]>([
    ['no queue', undefined, 'Expected `request.liveRequestQueue` to be a LiveRequestQueue, got undefined'],
    ['a list for a queue', [], 'Expected `request.liveRequestQueue` to be a LiveRequestQueue, got an array of 0'],
    ['an object for a queue', {close: () => {}}, 'Expected `request.liveRequestQueue` to be a LiveRequestQueue, got an object (Object)'],
  ])('with %s', async (_, liveRequestQueue, message) => {
    expect(await refusal({liveRequestQueue: liveRequestQueue as never})).toMatchObject({code: 'INVALID_OPTION', message});
  });

  test.each<[object, string]>([
    [{userId: ''}, 'request.userId'],
    [{sessionId: 7}, 'request.sessionId'],
    [{abortSignal: {}}, 'Expected `request.abortSignal` to be an AbortSignal, got an object (Object)'],
    [{liveSessionResumptionHandle: ''}, 'request.liveSessionResumptionHandle'],
    [{newMessage: {parts: [{text: 'hi'}]}}, 'newMessage'],
  ])('with the request %j', async (request, message) => {
    expect(await refusal(request as never)).toMatchObject({code: 'INVALID_OPTION', message: expect.stringContaining(message)});
  });

  test('with a queue that another run has read', async () => {
    await using it = await liveStage();
    const {session, reading} = await it.talk();
    await it.finish(session, reading);
    const {error} = await it.read().end;
    expect(error).toBeInstanceOf(InvalidOptionError);
    expect(error).toMatchObject({
      message: 'Expected `liveRequestQueue` to be a queue of its own for each run, got an object (LiveRequestQueue)',
    });
    expect(it.server.sessions).toHaveLength(1);
  });

  test('with a session that does not exist', async () => {
    await using it = await liveStage();
    const {error} = await it.read({sessionId: 'other'}).end;
    expect(error).toBeInstanceOf(SessionNotFoundError);
    expect(it.server.sessions).toEqual([]);
    expect(it.queue.closed).toBe(true);
  });

  test('where it is not said whether sound should be kept', async () => {
    const runner = {artifactService: new InMemoryArtifactService()};
    expect(await refusal({runConfig: {saveLiveBlob: 'all' as never}}, {runner})).toMatchObject({
      message: 'Expected `runConfig.saveLiveBlob` to be a boolean, got "all" (string)',
    });
  });

  test('where sound should be kept and there is no service to keep it', async () => {
    expect(await refusal({runConfig: {saveLiveBlob: true}})).toMatchObject({
      code: 'INVALID_OPTION',
      message: 'Expected `runConfig.saveLiveBlob` to be left out, as the runner has no artifactService, got true (boolean)',
    });
  });

  test('on a model without live connections', async () => {
    const error = await refusal({}, {agent: {model: new ScriptedLlm({steps: []})}});
    expect(error).toMatchObject({
      code: 'INVALID_OPTION',
      message: 'Expected `model` to be a live model, got "scripted" (string)',
    });
  });
});

test('a live run on an agent that has none is refused', async () => {
  class Greeter extends BaseAgent {
    protected async *runAsyncImpl(): AsyncGenerator<Event, void, undefined> {
      yield await Promise.reject(new Error('not asked for'));
    }
  }
  await using it = await liveStage({runner: {agent: new Greeter({name: 'greeter'})}});
  const {error, outcome} = await it.read().end;
  expect(error).toBeInstanceOf(InvalidOptionError);
  expect(error).toMatchObject({message: 'Expected `greeter.runLiveImpl` to be an async generator method, `async *`, got undefined'});
  expect(outcome.kind).toBe('error');
  expect(it.queue.closed).toBe(true);
});

// google/adk-js#676, #692
test('the live mode is refused in runAsync, and taken in runLive', async () => {
  await using it = await liveStage({runConfig: {streamingMode: StreamingMode.BIDI}});
  await expect(it.stage.run('hi').next()).rejects.toThrow(
    'Expected `runConfig.streamingMode` to be "none" or "sse" in runAsync, got "bidi" (string)',
  );
  const {session, reading} = await it.talk();
  expect((await it.finish(session, reading)).outcome.kind).toBe('done');
});

test.each([
  ['FunctionTool', FunctionTool],
  ['LongRunningFunctionTool', LongRunningFunctionTool],
])('a %s with an unknown responseScheduling is not made', (_, Tool) => {
  const make = (responseScheduling: unknown): unknown =>
    new Tool({name: 'a', description: 'A.', execute: () => 1, responseScheduling: responseScheduling as never});
  expect(() => make('LATER')).toThrow(InvalidOptionError);
  expect(() => make('LATER')).toThrow('responseScheduling');
  expect(() => make('silent')).toThrow(InvalidOptionError);
  expect(() => make(undefined)).not.toThrow();
});

test('options of live runs are told to have no effect in runAsync', async () => {
  await using it = await liveStage({agent: {model: new ScriptedLlm({steps: ['Hello.']})}});
  const run = it.stage.run('hi', {runConfig: {speechConfig: {}, responseModalities: ['AUDIO']}});
  for await (const _ of run);
  expect(it.stage.diagnostics.map(({code, name}) => [code, name])).toEqual(
    expect.arrayContaining([
      ['OPTION_UNUSED', 'runConfig.speechConfig'],
      ['OPTION_UNUSED', 'runConfig.responseModalities'],
    ]),
  );
});

test('what the server sends and nobody understands is passed over', async () => {
  await using it = await liveStage();
  const {session, reading} = await it.talk();
  session.send({somethingNew: {value: 1}});
  session.send({serverContent: {somethingElse: true}});
  session.send({});
  session.send({voiceActivity: {type: 'ACTIVITY_START'}});
  await it.finish(session, reading);
  expect(reading.events).toHaveLength(2);
});
