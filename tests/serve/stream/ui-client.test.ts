import {
  AbstractChat,
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  lastAssistantMessageIsCompleteWithToolCalls,
  readUIMessageStream,
  type ChatInit,
  type ChatState,
  type ChatStatus,
  type UIMessage,
  type UIMessageChunk as AIChunk,
} from 'ai';
import {FunctionTool, LongRunningFunctionTool, ModelError, type CreateEventParams, type Part} from 'sluice';
import {deltas, functionCalls, hang, type ScriptedStep} from 'sluice/testing';
import {describe, expect, test} from 'vitest';
import {readChatRequest} from '../../../lib/serve/stream/chat-request.ts';
import {clientError} from '../../../lib/serve/stream/client-error.ts';
import {RunFeed} from '../../../lib/serve/stream/run-feed.ts';
import {startResponse, toResponse} from '../../../lib/serve/stream/to-response.ts';
import type {UIMessageChunk} from '../../../lib/serve/stream/ui-message-chunk.ts';
import {Loopback} from './loopback.ts';
import {scriptedRun, stage, type Stage} from './stage.ts';

/** What `useChat` of a framework brings: somewhere to keep the messages. */
class State implements ChatState<UIMessage> {
  status: ChatStatus = 'ready';
  error: Error | undefined = undefined;
  messages: UIMessage[];
  constructor(messages: UIMessage[]) {
    this.messages = messages;
  }
  readonly pushMessage = (message: UIMessage): void => void this.messages.push(message);
  readonly popMessage = (): void => void this.messages.pop();
  readonly replaceMessage = (at: number, message: UIMessage): void => void (this.messages[at] = message);
  readonly snapshot = <T>(thing: T): T => structuredClone(thing);
}

class Chat extends AbstractChat<UIMessage> {
  constructor(init: ChatInit<UIMessage>) {
    super({...init, state: new State(init.messages ?? [])});
  }
}

/** A chat of the AI SDK over a real socket. */
async function chat(it: Stage, init: ChatInit<UIMessage> = {}): Promise<{chat: Chat; loopback: Loopback}> {
  const loopback = await Loopback.start(async (request) => {
    try {
      const {newMessage, messageId} = readChatRequest(await request.json());
      return await startResponse(it.run(newMessage), {format: 'ui-message-stream', request, messageId, onError: () => {}});
    } catch (error) {
      return Response.json(clientError(error), {status: 429});
    }
  });
  return {chat: new Chat({id: 's', transport: new DefaultChatTransport({api: loopback.url}), ...init}), loopback};
}

/** The message that the SDK's reader makes of a run, whose Events are given. */
async function read(script: () => Iterable<CreateEventParams>): Promise<{message: UIMessage | undefined; errors: unknown[]}> {
  const run = scriptedRun(script);
  const transport = new DefaultChatTransport<UIMessage>({
    api: 'http://127.0.0.1/',
    fetch: () => Promise.resolve(toResponse(run, {format: 'ui-message-stream', onError: () => {}})),
  });
  const stream = await transport.sendMessages({
    trigger: 'submit-message',
    chatId: 's',
    messageId: undefined,
    messages: [],
    abortSignal: undefined,
  });
  const errors: unknown[] = [];
  let message: UIMessage | undefined;
  for await (const next of readUIMessageStream<UIMessage>({stream, onError: (error) => errors.push(error)})) message = next;
  return {message, errors};
}

const model = (parts: Part[], rest: CreateEventParams = {}): CreateEventParams => ({...rest, content: {role: 'model', parts}});
/** Parts without the fields that a client has for itself. */
const seen = (message: UIMessage | undefined): unknown[] | undefined => JSON.parse(JSON.stringify(message?.parts ?? [])) as unknown[];

const weather = new FunctionTool({
  name: 'weather',
  description: 'The weather.',
  async *execute() {
    yield {sky: 'looking'};
    return {sky: 'clear'};
  },
});
const broken = new FunctionTool({
  name: 'broken',
  description: 'Fails.',
  execute: () => {
    throw new Error('no such city');
  },
});
const ask = new LongRunningFunctionTool({name: 'ask', description: 'Asks the user.', execute: () => ({status: 'asked'})});

test('chunks are of the types of the AI SDK', () => {
  const chunks: readonly UIMessageChunk[] = [];
  const ours: readonly AIChunk[] = chunks;
  expect(ours).toEqual([]);
});

describe('the message that a client reads', () => {
  test('has thoughts, text, calls, progress, results, failures and files, each once', async () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}};
    const {message, errors} = await read(function* () {
      yield model([{text: 'Hm', thought: true}], {id: 'e1', partial: true});
      yield model([{text: 'm.', thought: true}, {text: 'Look'}], {id: 'e1', partial: true});
      yield model([{functionCall: {id: 'c1', name: 'weather', args: {}}}], {id: 'e1', partial: true});
      const calls = ['c1', 'c2'].map((id) => ({functionCall: {id, name: 'weather', args: {id}}}));
      yield model([{text: 'Hmm.', thought: true}, {text: 'Look'}, ...calls], {id: 'e1'});
      const answers = [{sky: 'clear'}, {error: 'no such city'}].map((response, at) => ({
        functionResponse: {id: `c${at + 1}`, name: 'weather', response},
      }));
      yield {id: 'e2', content: {role: 'user', parts: answers}};
      yield model([{text: 'Here'}], {id: 'e3', partial: true});
      yield model([image], {id: 'e3', partial: true});
      yield model([{text: 'Here: '}, image, {text: 'it is.'}, {executableCode: {code: '1+1'}, thoughtSignature: 'c2ln'}], {
        id: 'e3',
        groundingMetadata: {groundingChunks: [{web: {uri: 'https://sky.example', title: 'Sky'}}]},
      });
    });
    expect(errors).toEqual([]);
    const tool = {type: 'tool-weather'};
    expect(seen(message)).toEqual([
      {type: 'step-start'},
      {type: 'reasoning', id: '0', text: 'Hmm.', state: 'done'},
      {type: 'text', text: 'Look', state: 'done'},
      {...tool, toolCallId: 'c1', state: 'output-available', input: {id: 'c1'}, output: {sky: 'clear'}},
      {...tool, toolCallId: 'c2', state: 'output-error', input: {id: 'c2'}, errorText: 'no such city'},
      {type: 'step-start'},
      // The pieces showed another reply than the whole one: that was taken back.
      {type: 'text', text: 'Here: ', state: 'done'},
      {type: 'file', mediaType: 'image/png', url: 'data:image/png;base64,iVBORw0KGgo='},
      {type: 'text', text: 'it is.', state: 'done'},
      {type: 'data-part', data: {executableCode: {code: '1+1'}}},
      {type: 'source-url', sourceId: 'e3-0', url: 'https://sky.example', title: 'Sky'},
    ]);
  });

  test('has the calls that the server of the model has answered itself', async () => {
    const {message, errors} = await read(() => [
      {id: 'e', partial: true, content: {role: 'model', parts: [{functionResponse: {id: 'theirs', name: 'search', response: {}}}]}},
      model([
        {functionCall: {id: 'x', name: 'search', args: {q: 'sky'}}},
        {functionCall: {id: 'y', name: 'search', args: {q: 'sea'}}},
        {functionResponse: {id: 'theirs', name: 'search', response: {found: 1}}},
        {functionResponse: {name: 'search', response: {found: 2}}},
        {text: 'Found.'},
      ]),
    ]);
    expect(errors).toEqual([]);
    const second = {toolCallId: 'y', input: {q: 'sea'}, output: {found: 2}};
    const found = {type: 'tool-search', toolCallId: 'x', state: 'output-available', input: {q: 'sky'}, output: {found: 1}};
    expect(seen(message)?.slice(1)).toEqual([
      {...found, providerExecuted: true},
      {...found, ...second, providerExecuted: true},
      {type: 'text', text: 'Found.', state: 'done'},
    ]);
  });

  test('has an output also where its call is of another run', async () => {
    const {message, errors} = await read(() => [
      {content: {role: 'user', parts: [{functionResponse: {id: 'old', name: 'ask', response: {ok: true}}}]}},
    ]);
    expect(errors).toEqual([]);
    expect(seen(message)).toMatchObject([{type: 'tool-ask', toolCallId: 'old', state: 'output-available', output: {ok: true}}]);
  });

  test('says why a model gave nothing usable; a reply that is only cut is no error', async () => {
    const refused = await read(() => [{id: 'e1', errorCode: 'SAFETY', errorMessage: 'Blocked.'}]);
    expect(refused.errors).toEqual([new Error('Blocked.')]);
    expect(refused.message?.metadata).toMatchObject({error: {code: 'SAFETY', message: 'Blocked.'}});
    const cut = await read(() => [model([{text: 'So lo'}], {errorCode: 'MAX_TOKENS'})]);
    expect(cut.errors).toEqual([]);
  });
});

describe('a chat of the AI SDK on a real socket', () => {
  const steps: ScriptedStep[] = [functionCalls({name: 'weather', args: {}}, {name: 'broken', args: {}}), deltas('It is ', 'clear.')];

  test('shows a run and ends ready', async () => {
    const it = await stage(steps, [weather, broken]);
    const finish: unknown[] = [];
    const {chat: it2, loopback} = await chat(it, {onFinish: ({finishReason}) => finish.push(finishReason)});
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Weather?', files: [{type: 'file', mediaType: 'text/plain', url: 'data:text/plain;base64,SGk='}]});
    expect([it2.status, it2.error]).toEqual(['ready', undefined]);
    expect(finish).toEqual(['stop']);
    expect(seen(it2.lastMessage)).toMatchObject([
      {type: 'step-start'},
      {type: 'tool-weather', state: 'output-available', output: {sky: 'clear'}},
      {type: 'tool-broken', state: 'output-error', errorText: 'no such city'},
      {type: 'step-start'},
      {type: 'text', text: 'It is clear.', state: 'done'},
    ]);
    const events = await it.validEvents();
    expect(it2.lastMessage?.id).toBe(events[0]?.invocationId);
    expect(it2.lastMessage?.metadata).toEqual({invocationId: events[0]?.invocationId});
    expect(events[0]?.content?.parts).toEqual([{inlineData: {mimeType: 'text/plain', data: 'SGk='}}, {text: 'Weather?'}]);
  });

  test('answers calls that wait, in the message that has them', async () => {
    const it = await stage([functionCalls({name: 'ask', args: {}}, {name: 'ask', args: {}}), deltas('Thank ', 'you.')], [ask]);
    const finish: unknown[] = [];
    const {chat: it2, loopback} = await chat(it, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithToolCalls,
      onFinish: ({finishReason}) => finish.push(finishReason),
    });
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Go on.'});
    const waiting = it2.lastMessage?.parts.flatMap((part) => (part.type === 'tool-ask' && 'toolCallId' in part ? [part] : [])) ?? [];
    expect(waiting.map(({state}) => state)).toEqual(['input-available', 'input-available']);
    expect(seen(it2.lastMessage)?.at(-1)).toMatchObject({type: 'data-waiting', data: {toolName: 'ask', output: {status: 'asked'}}});
    const id = it2.lastMessage?.id;
    const [first, second] = waiting.map(({toolCallId}) => toolCallId);
    await it2.addToolOutput({tool: 'ask', toolCallId: first ?? '', output: 'yes'});
    await it2.addToolOutput({tool: 'ask', toolCallId: second ?? '', state: 'output-error', errorText: 'no idea'});
    await expect.poll(() => finish, {timeout: 10_000, interval: 5}).toEqual(['tool-calls', 'stop']);
    expect([it2.status, it2.error]).toEqual(['ready', undefined]);
    expect(it2.messages.map((message) => message.role)).toEqual(['user', 'assistant']);
    expect(it2.lastMessage?.id).toBe(id);
    expect(seen(it2.lastMessage)?.at(-1)).toEqual({type: 'text', text: 'Thank you.', state: 'done'});
    const events = (await it.runner.sessionService.getSession({appName: 'test', userId: 'u', sessionId: 's'}))?.events ?? [];
    expect(events.at(-2)?.content?.parts?.map(({functionResponse}) => functionResponse)).toEqual([
      {id: first, name: 'ask', response: {result: 'yes'}},
      {id: second, name: 'ask', response: {error: 'no idea'}},
    ]);
  });

  test.each([
    [true, {state: 'output-available', output: {paid: 90}}],
    [false, {state: 'output-error', errorText: 'The user refused this call'}],
  ])('asks for an approval, and goes on with the response: %j', async (approved, expected) => {
    const pay = new FunctionTool({
      name: 'pay',
      description: 'Pays.',
      parameters: {type: 'object', properties: {amount: {type: 'number'}}},
      requireConfirmation: true,
      execute: ({amount}) => ({paid: amount}),
    });
    const it = await stage([functionCalls({name: 'pay', args: {amount: 90}}), deltas('All ', 'right.')], [pay]);
    const finish: unknown[] = [];
    const {chat: it2, loopback} = await chat(it, {
      sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
      onFinish: ({finishReason}) => finish.push(finishReason),
    });
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Pay.'});
    const [asked] = it2.lastMessage?.parts.flatMap((part) => (part.type === 'tool-pay' && 'approval' in part ? [part] : [])) ?? [];
    expect(asked).toMatchObject({state: 'approval-requested', input: {amount: 90}});
    expect(seen(it2.lastMessage)).toHaveLength(2);
    await it2.addToolApprovalResponse({id: asked?.approval?.id ?? '', approved});
    await expect.poll(() => finish, {timeout: 10_000, interval: 5}).toEqual(['tool-calls', 'stop']);
    expect([it2.status, it2.error]).toEqual(['ready', undefined]);
    expect(seen(it2.lastMessage)).toMatchObject([
      {type: 'step-start'},
      {type: 'tool-pay', input: {amount: 90}, ...expected},
      {type: 'step-start'},
      {type: 'text', text: 'All right.', state: 'done'},
    ]);
  });

  test('asks for a credential as a call of its own that waits', async () => {
    const login = new FunctionTool({
      name: 'login',
      description: 'Logs in.',
      execute: (_args, context) => {
        if (context.getAuthResponse() !== undefined) return {in: true};
        context.requestCredential({scheme: 'key'});
        return undefined;
      },
    });
    const it = await stage([functionCalls({name: 'login', args: {}}), deltas('You are ', 'in.')], [login]);
    const finish: unknown[] = [];
    const {chat: it2, loopback} = await chat(it, {
      sendAutomaticallyWhen: ({messages}) => finish.length === 1 && JSON.stringify(messages.at(-1)).includes('"output":{"key":"k"}'),
      onFinish: ({finishReason}) => finish.push(finishReason),
    });
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Log in.'});
    const {data} = (seen(it2.lastMessage)?.at(-1) ?? {}) as {data?: {toolCallId: string; toolName: string; output: unknown}};
    expect(data).toMatchObject({toolName: 'adk_request_credential', output: {authConfig: {scheme: 'key'}}});
    await it2.addToolOutput({tool: 'adk_request_credential', toolCallId: data?.toolCallId ?? '', output: {key: 'k'}});
    await expect.poll(() => finish, {timeout: 10_000, interval: 5}).toEqual(['tool-calls', 'stop']);
    expect(seen(it2.lastMessage)?.at(-1)).toEqual({type: 'text', text: 'You are in.', state: 'done'});
  });

  test('stop() ends the run', async () => {
    const it = await stage([hang()]);
    const {chat: it2, loopback} = await chat(it);
    await using _loopback = loopback;
    const sending = it2.sendMessage({text: 'Hello?'});
    await expect.poll(() => it.model.calls, {timeout: 10_000, interval: 1}).toBe(1);
    await it2.stop();
    await sending;
    await expect.poll(() => it.model.signals[0]?.aborted, {timeout: 10_000, interval: 1}).toBe(true);
    expect(it2.status).toBe('ready');
  });

  test('shows a failure before the first Event by the status of the route', async () => {
    const it = await stage([new ModelError('The quota is used up', {code: 'RESOURCE_EXHAUSTED'})]);
    const {chat: it2, loopback} = await chat(it);
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Hello?'});
    expect(it2.error).toMatchObject({statusCode: 429, responseBody: expect.stringContaining('"code":"RESOURCE_EXHAUSTED"')});
  });

  test('shows an error in the middle, and keeps what was said', async () => {
    const failing: ScriptedStep = async function* () {
      yield* deltas('So ', 'far').slice(0, 2);
      throw new ModelError('The quota is used up', {code: 'RESOURCE_EXHAUSTED'});
    };
    const it = await stage([failing]);
    const {chat: it2, loopback} = await chat(it);
    await using _loopback = loopback;
    await it2.sendMessage({text: 'Hello?'});
    expect(it2.error?.message).toBe('The model takes no more requests at the moment');
    expect(seen(it2.lastMessage)?.at(-1)).toMatchObject({type: 'text', text: 'So far'});
    expect(it2.lastMessage?.metadata).toMatchObject({error: {code: 'RESOURCE_EXHAUSTED'}});
  });

  test('resumes a response that goes on, and has it once', async () => {
    const gate = Promise.withResolvers<void>();
    const it = await stage([
      async function* () {
        yield* deltas('It is ', 'clear.').slice(0, 1);
        await gate.promise;
        yield* deltas('It is ', 'clear.').slice(1);
      },
    ]);
    let feed: RunFeed | undefined;
    await using loopback = await Loopback.start(async (request) => {
      if (request.method === 'POST') feed = new RunFeed(it.run(readChatRequest(await request.json()).newMessage));
      return feed?.toResponse({format: 'ui-message-stream', request}) ?? new Response(null, {status: 204});
    });
    const transport = new DefaultChatTransport<UIMessage>({api: loopback.url});
    const before = new Chat({id: 's', transport});
    const sending = before.sendMessage({text: 'Weather?'});
    await expect.poll(() => seen(before.lastMessage)?.at(-1), {timeout: 10_000, interval: 1}).toMatchObject({text: 'It is '});
    await before.stop();
    await sending;
    // The page is loaded anew, with the messages that it had.
    const after = new Chat({id: 's', transport, messages: before.messages});
    const resuming = after.resumeStream();
    await expect.poll(() => after.status, {timeout: 10_000, interval: 1}).toBe('streaming');
    gate.resolve();
    await resuming;
    expect(after.messages.map(({role}) => role)).toEqual(['user', 'assistant']);
    expect(seen(after.lastMessage)).toEqual([{type: 'step-start'}, {type: 'text', text: 'It is clear.', state: 'done'}]);
    expect((await feed?.settled)?.kind).toBe('done');
  });
});
