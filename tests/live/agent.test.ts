import {describe, expect, test} from 'vitest';
import {
  BaseLlm,
  BaseLlmConnection,
  FunctionTool,
  HookError,
  InMemoryRunner,
  LiveRequestQueue,
  LlmAgent,
  ModelError,
  type Content,
  type LlmRequest,
  type LlmResponse,
  type RealtimeInput,
} from 'sluice';
import {collect} from 'sluice/testing';
import {z} from 'zod';
import {answers, bye, heldTool, liveLine, liveStage, whole, wire} from './kit.ts';

const echo = new FunctionTool({
  name: 'echo',
  description: 'Says it again.',
  parameters: z.object({say: z.string()}),
  execute: ({say}) => say,
});

describe('beforeModelCallback', () => {
  test('sees what the connection is opened with, and may change it; what it writes is stored with the first Event of the model', async () => {
    let seen: LlmRequest | undefined;
    await using it = await liveStage({
      agent: {
        tools: [echo],
        instruction: 'Be brief.',
        generateContentConfig: {temperature: 0.5},
        beforeModelCallback: ({request, context}) => {
          seen = structuredClone(request);
          request.config.systemInstruction = 'Be long.';
          context.state.set('asked', true);
        },
      },
    });
    const {session, reading} = await it.talk();
    await it.finish(session, reading);
    expect(seen).toMatchObject({
      model: 'gemini-live-2.5-flash-preview',
      contents: [],
      config: {systemInstruction: 'Be brief.', temperature: 0.5, tools: [{functionDeclarations: [{name: 'echo'}]}]},
      liveConnectConfig: {responseModalities: ['TEXT'], sessionResumption: {}, inputAudioTranscription: {}},
    });
    expect(session.setup).toMatchObject({
      systemInstruction: {parts: [{text: 'Be long.'}]},
      generationConfig: {temperature: 0.5, responseModalities: ['TEXT']},
    });
    expect(await it.stage.state()).toEqual({asked: true});
    expect(reading.events.map(({actions}) => actions.stateDelta)).toEqual([{}, {asked: true}]);
  });

  test('that answers stands in for the model: nothing is connected', async () => {
    await using it = await liveStage({agent: {beforeModelCallback: () => ({content: {role: 'model', parts: [{text: 'Closed today.'}]}})}});
    void it.say('hi');
    const {outcome, events} = await it.read().end;
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 0});
    expect(events.map(liveLine)).toEqual(['root: "Closed today." [turn complete]']);
    expect(await it.stored()).toEqual(['root: "Closed today." [turn complete]']);
    expect(it.server.sessions).toEqual([]);
    expect(it.queue.closed).toBe(true);
  });
});

describe('afterModelCallback', () => {
  test('sees each response in order and may replace it; what it writes is stored with the next whole Event', async () => {
    const seen: string[] = [];
    await using it = await liveStage({
      agent: {
        tools: [echo],
        afterModelCallback: async ({response, context}) => {
          const [part] = response.content?.parts ?? [];
          seen.push(part?.text ?? part?.functionCall?.name ?? Object.keys(response).join(' '));
          context.state.set('seen', seen.length);
          if (part?.text === undefined) return undefined;
          // The first takes longest.
          for (let turns = 10 - seen.length; turns > 0; turns--) await new Promise((resolve) => setImmediate(resolve));
          return {...response, content: {role: 'model', parts: [{text: part.text.toUpperCase()}]}};
        },
      },
    });
    const {session, reading} = await it.talk();
    session.say('I ');
    session.say('look.');
    session.toolCall([{id: '1', name: 'echo', args: {say: 'x'}}]);
    await session.message('toolResponse');
    session.say('Bye.');
    await reading.until('root: "BYE." [partial]');
    it.queue.close();
    session.completeTurn();
    await reading.end;
    expect(seen).toEqual(['I ', 'look.', 'echo', 'Bye.', 'turnComplete']);
    expect(reading.lines).toEqual([
      'root: "I " [partial]',
      'root: "LOOK." [partial]',
      'root: "I LOOK." echo({"say":"x"})',
      'root: echo={"result":"x"}',
      'root: "BYE." [partial]',
      'root: "BYE." [turn complete]',
    ]);
    expect(reading.events.filter(({partial}) => !partial).map(({actions}) => actions.stateDelta)).toEqual([{seen: 3}, {}, {seen: 5}]);
    expect(await it.stage.state()).toEqual({seen: 5});
  });

  test('that gives only another content leaves the signals of a message as they were', async () => {
    await using it = await liveStage({
      agent: {afterModelCallback: ({response}) => (response.content ? {content: {role: 'model', parts: [{text: '***'}]}} : undefined)},
    });
    const {session, reading} = await it.talk();
    it.queue.close();
    session.send({serverContent: {modelTurn: {parts: [{text: 'secret'}]}, turnComplete: true}, usageMetadata: {totalTokenCount: 3}});
    const {outcome} = await reading.end;
    expect(outcome).toMatchObject({kind: 'done', usage: {totalTokenCount: 3}});
    expect(reading.lines).toEqual(['root: "***" [partial]', 'root: "***" [turn complete, 3 tokens]']);
  });

  test('that throws ends the run and its connection', async () => {
    await using it = await liveStage({
      agent: {
        afterModelCallback: () => {
          throw new Error('no');
        },
      },
    });
    const {session, reading} = await it.talk();
    session.say('Hello.');
    const {error, outcome} = await reading.end;
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({hook: 'afterModelCallback'});
    expect(outcome.kind).toBe('error');
    expect(await session.closed).toMatchObject({early: true});
  });
});

describe('onModelErrorCallback', () => {
  test('may answer for a model that cannot be reached', async () => {
    let seen: unknown;
    await using it = await liveStage({
      agent: {
        onModelErrorCallback: ({error, context}) => {
          seen = error;
          context.state.set('failed', true);
          return {content: {role: 'model', parts: [{text: 'Try later.'}]}, errorCode: 'UNAVAILABLE', errorMessage: 'No luck.'};
        },
      },
    });
    it.server.session((session) => session.close(1008, 'Requests are not allowed.'));
    void it.say('hi');
    const {events, outcome} = await it.read().end;
    expect(seen).toBeInstanceOf(ModelError);
    expect(seen).toMatchObject({message: 'Requests are not allowed.', closeCode: 1008});
    expect(events.map(liveLine)).toEqual(['root: "Try later." [turn complete, error UNAVAILABLE]']);
    expect(events[0]).toMatchObject({errorMessage: 'No luck.', actions: {stateDelta: {failed: true}}});
    expect(outcome).toMatchObject({kind: 'done', errorCode: 'UNAVAILABLE'});
    expect(it.server.sessions).toHaveLength(1);
  });
});

describe('the hooks of tools', () => {
  test('answer for a tool, change its answer, and answer for its error', async () => {
    const [log, broken]: [string[], FunctionTool] = [
      [],
      new FunctionTool({
        name: 'broken',
        description: 'Breaks.',
        execute: () => {
          throw new Error('out of paper');
        },
      }),
    ];
    await using it = await liveStage({
      agent: {
        tools: [echo, broken],
        beforeToolCallback: ({tool, args, context}) => {
          log.push(`before ${tool.name} ${JSON.stringify(args)}`);
          context.state.set(`before ${context.functionCallId}`, true);
          return args['say'] === 'skip' ? {skipped: true} : undefined;
        },
        afterToolCallback: ({tool, response}) => {
          log.push(`after ${tool.name} ${JSON.stringify(response)}`);
          return response['result'] === 'change' ? {result: 'changed'} : undefined;
        },
        onToolErrorCallback: ({tool, error}) => {
          log.push(`error ${tool.name} ${(error as Error).message}`);
          return {rescued: true};
        },
      },
    });
    const {session, reading} = await it.talk();
    session.toolCall([
      {id: '1', name: 'echo', args: {say: 'skip'}},
      {id: '2', name: 'echo', args: {say: 'change'}},
      {id: '3', name: 'broken'},
    ]);
    await session.message('toolResponse');
    await it.finish(session, reading);
    expect(wire(session).at(-1)).toEqual(
      answers(
        {id: '1', name: 'echo', response: {skipped: true}},
        {id: '2', name: 'echo', response: {result: 'changed'}},
        {id: '3', name: 'broken', response: {rescued: true}},
      ),
    );
    expect(log.toSorted()).toEqual([
      'after broken {"rescued":true}',
      'after echo {"result":"change"}',
      'after echo {"skipped":true}',
      'before broken {}',
      'before echo {"say":"change"}',
      'before echo {"say":"skip"}',
      'error broken out of paper',
    ]);
    expect(await it.stage.state()).toEqual({'before 1': true, 'before 2': true, 'before 3': true});
  });

  test('are not asked about a call that was cancelled', async () => {
    const log: string[] = [];
    const a = heldTool('a');
    await using it = await liveStage({agent: {tools: [a.tool], onToolErrorCallback: () => void log.push('error')}});
    const {session, reading} = await it.talk();
    session.toolCall([{id: '1', name: 'a'}]);
    await a.call();
    session.cancelToolCalls(['1']);
    await reading.until('root: a={"error":"cancelled; it may have taken effect","started":true}');
    await it.finish(session, reading);
    expect(log).toEqual([]);
  });
});

describe('the hooks of the agent', () => {
  test('stand before the connection and behind it, and write state', async () => {
    await using it = await liveStage({
      agent: {
        beforeAgentCallback: ({state}) => {
          state.set('before', 1);
        },
        afterAgentCallback: ({state}) => {
          state.set('after', 2);
          return {role: 'model', parts: [{text: 'That was it.'}]};
        },
      },
    });
    const {session, reading} = await it.talk();
    await it.finish(session, reading);
    expect(reading.lines).toEqual(['root:', ...bye, 'root: "That was it."']);
    expect(await it.stored()).toEqual(['root:', 'user: "hi"', ...whole(bye), 'root: "That was it."']);
    expect(await it.stage.state()).toEqual({before: 1, after: 2});
  });

  test('may answer for it, without a connection', async () => {
    await using it = await liveStage({agent: {beforeAgentCallback: () => ({role: 'model', parts: [{text: 'Not me.'}]})}});
    const {events} = await it.read().end;
    expect(events.map(liveLine)).toEqual(['root: "Not me."']);
    expect(it.server.sessions).toEqual([]);
    expect(it.queue.closed).toBe(true);
  });
});

test.each([
  ['in a string', 'Serve {guest}.'],
  ['by a function', ({state}: {state: {get(key: string): unknown}}) => `Serve ${state.get('guest') as string}.`],
])('an instruction %s is filled in from the state', async (_, instruction) => {
  await using it = await liveStage({agent: {instruction}});
  await it.stage.runner.sessionService.deleteSession({appName: 'app', userId: 'u', sessionId: 's'});
  await it.stage.runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's', state: {guest: 'Ada'}});
  const {session, reading} = await it.talk();
  expect(session.setup).toMatchObject({systemInstruction: {parts: [{text: 'Serve Ada.'}]}});
  await it.finish(session, reading);
});

describe('outputKey', () => {
  test('takes the text of a finished turn, without its thoughts', async () => {
    await using it = await liveStage({agent: {outputKey: 'last'}});
    const {session, reading} = await it.talk();
    session.say('Half an ans');
    session.interrupt();
    session.completeTurn();
    await reading.until('root: [turn complete]');
    expect(await it.stage.state()).toEqual({});
    session.send({serverContent: {modelTurn: {parts: [{text: 'Hm.', thought: true}]}}});
    session.say('A whole ');
    session.say('answer.');
    session.completeTurn();
    await reading.until((event) => event.content?.parts?.[1]?.text === 'A whole answer.');
    expect(await it.stage.state()).toEqual({last: 'A whole answer.'});
    await it.finish(session, reading);
    expect(await it.stage.state()).toEqual({last: 'Bye.'});
  });

  test('takes what was said aloud', async () => {
    await using it = await liveStage({agent: {outputKey: 'last'}, runConfig: {responseModalities: ['AUDIO']}});
    const {session, reading} = await it.talk();
    session.transcribeOutput('Good ');
    session.transcribeOutput('day.');
    it.queue.close();
    session.completeTurn();
    await reading.end;
    expect(await it.stage.state()).toEqual({last: 'Good day.'});
  });
});

test('a connection of the user that does not end when it is closed is left behind, and the run is done', async () => {
  class Deaf extends ParrotConnection {
    override async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
      for await (const response of super.receive()) {
        yield response;
        if (response.turnComplete) await new Promise<never>(() => {});
      }
    }
  }
  class DeafModel extends Parrot {
    override async connect(): Promise<ParrotConnection> {
      return new Deaf();
    }
  }
  const told: string[] = [];
  const agent = new LlmAgent({name: 'root', model: new DeafModel({model: 'deaf'})});
  const runner = new InMemoryRunner({agent, autoCreateSession: true, onDiagnostic: ({code, name}) => told.push(`${code} ${name}`)});
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendContent({parts: [{text: 'hi'}]});
  liveRequestQueue.close();
  const {outcome} = await collect(runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue, runConfig: {abortGraceMs: 10}}));
  expect(outcome.kind).toBe('done');
  expect(told).toEqual(['WORK_ABANDONED model deaf']);
});

test('a connection of the user that gives something else than responses ends the run with an error that says so', async () => {
  class Odd extends ParrotConnection {
    override async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
      yield undefined as unknown as LlmResponse;
    }
  }
  class OddModel extends Parrot {
    override async connect(): Promise<ParrotConnection> {
      return new Odd();
    }
  }
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model: new OddModel({model: 'odd'})}), autoCreateSession: true});
  const {error} = await collect(runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue: new LiveRequestQueue()}));
  expect(error).toMatchObject({code: 'INVALID_RESPONSE', message: 'The model gave undefined, not an LlmResponse'});
});

/** A model of the user's own: says what it hears. */
class Parrot extends BaseLlm {
  readonly connections: ParrotConnection[] = [];

  async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {
    yield {};
  }

  override async connect(): Promise<ParrotConnection> {
    const connection = new ParrotConnection();
    this.connections.push(connection);
    return connection;
  }
}

class ParrotConnection extends BaseLlmConnection {
  readonly log: string[] = [];
  readonly #responses: LlmResponse[] = [];
  #wake: () => void = () => {};
  #closed = false;

  async sendHistory(history: readonly Content[]): Promise<void> {
    this.log.push(`history ${history.length}`);
  }

  async sendContent({parts = []}: Content): Promise<void> {
    this.log.push(`content ${JSON.stringify(parts)}`);
    const [part] = parts;
    if (part?.text === 'count') this.#push({content: {role: 'model', parts: [{functionCall: {name: 'echo', args: {say: 'three'}}}]}});
    else this.#push({content: {role: 'model', parts: [{text: part?.text ?? 'Well.'}]}, partial: true}, {turnComplete: true});
  }

  async sendRealtime(input: RealtimeInput): Promise<void> {
    this.log.push(`realtime ${Object.keys(input).join()}`);
  }

  async *receive(): AsyncGenerator<LlmResponse, void, undefined> {
    while (!this.#closed) {
      const response = this.#responses.shift();
      if (response) yield response;
      else await new Promise<void>((resolve) => (this.#wake = resolve));
    }
  }

  async close(): Promise<void> {
    if (!this.#closed) this.log.push('close');
    this.#closed = true;
    this.#wake();
  }

  #push(...responses: LlmResponse[]): void {
    this.#responses.push(...responses);
    this.#wake();
  }
}

test("a model of the user's own needs nothing but a connection", async () => {
  const model = new Parrot({model: 'parrot'});
  await using it = await liveStage({agent: {model, tools: [echo]}});
  const reading = it.read();
  await it.say('hello');
  await reading.until('root: "hello" [turn complete]');
  await it.queue.sendRealtime({mimeType: 'image/jpeg', data: 'AAAA'});
  await it.say('count');
  await reading.until('root: "Well." [turn complete]');
  await it.say('bye');
  it.queue.close();
  const {outcome} = await reading.end;
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 4});
  expect(whole(reading.lines)).toEqual([
    'root: "hello" [turn complete]',
    'root: echo({"say":"three"})',
    'root: echo={"result":"three"}',
    'root: "Well." [turn complete]',
    'root: "bye" [turn complete]',
  ]);
  const id = reading.events.flatMap(({content}) => content?.parts ?? []).find(({functionCall}) => functionCall)?.functionCall?.id;
  expect(model.connections.map(({log}) => log)).toEqual([
    [
      'content [{"text":"hello"}]',
      'realtime video',
      'content [{"text":"count"}]',
      `content [{"functionResponse":{"id":"${id}","name":"echo","response":{"result":"three"}}}]`,
      'content [{"text":"bye"}]',
      'close',
    ],
  ]);
});
