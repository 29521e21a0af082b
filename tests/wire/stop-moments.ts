/** The moments at which a run is stopped, and what each leaves behind: on the sockets of the servers, and in the session. */
import {ToolExecutionMode, StreamingMode} from 'sluice';
import type {GeminiOptions} from 'sluice/gemini';
import {answer, calls, chunks, failure} from 'sluice/testing';
import type {StopMoment} from './stop-kinds.ts';
import {fetching, quick, showing, turns, until, type Scene, type SceneOptions} from './stop-scene.ts';

export interface Moment extends SceneOptions, StopMoment<Scene> {
  readonly name: string;
  /** Of each request that the model's server gets: whether the stop closes it. */
  readonly model: readonly boolean[];
  /** The same for the tools' service. */
  readonly service?: readonly boolean[];
  readonly stored: readonly string[];
  /** How many calls of the model were begun. Default: one for each request. */
  readonly llmCalls?: number;
  /** Kinds of stop that mean something else here. */
  readonly except?: readonly string[];
}

const GO = 'user: "go"';
const ONE = 'root: "one" [stopped]';
const STARTED = '{"error":"cancelled; it may have taken effect","started":true}';
const NOT_STARTED = '{"error":"cancelled","started":false}';
const READY = '{"result":"ready"}';

const asked = (scene: Scene): Promise<unknown> => scene.server.nextRequest();
const isWaiting = (scene: Scene): Promise<unknown> => scene.server.nextRequest().then(() => turns());
const [a, b, c] = [{name: 'a'}, {name: 'b'}, {name: 'c'}];

const TOKEN = new Headers({authorization: 'Bearer T'});
const tokensAsked: true[] = [];

/** Options for Vertex AI. What google-auth-library needs of a client is one function. */
function vertex(getRequestHeaders: () => Promise<Headers>): Partial<GeminiOptions> {
  return {apiKey: undefined, project: 'p', location: 'l', googleAuthOptions: {authClient: {getRequestHeaders} as never}};
}

export const moments: readonly Moment[] = [
  {
    name: 'before the first next()',
    replies: [answer('unused')],
    reads: 0,
    pending: false,
    model: [],
    stored: [],
    // Nothing knows of a run that has not begun.
    except: ['cancel() of the session', 'cancel() of the run', 'close() at its deadline', 'the deadline of the run'],
  },
  {
    name: 'before the headers',
    replies: [chunks([], {fault: {kind: 'stall', after: 'request'}})],
    reads: 0,
    pending: true,
    reached: asked,
    model: [true],
    stored: [GO],
  },
  {
    name: 'after the headers',
    replies: [chunks([], {fault: {kind: 'stall', after: 0}})],
    reads: 0,
    pending: true,
    reached: (scene) => scene.headers.then(() => turns()),
    model: [true],
    stored: [GO],
  },
  {
    name: 'in mid stream',
    replies: [chunks(['one', 'two'], {fault: {kind: 'stall', after: 1}})],
    reads: 1,
    pending: true,
    reached: isWaiting,
    model: [true],
    stored: [GO, ONE],
  },
  {
    name: 'in mid stream, between two next() calls',
    replies: [chunks(['one', 'two'], {fault: {kind: 'stall', after: 1}})],
    reads: 1,
    pending: false,
    model: [true],
    stored: [GO, ONE],
  },
  {
    name: 'in mid stream, while the server goes on',
    replies: [() => chunks(endless(), {chunkDelayMs: 1})],
    reads: 1,
    pending: false,
    model: [true],
    stored: [GO, ONE],
  },
  {
    name: 'in the middle of a chunk',
    replies: [chunks(['one', 'two'], {fault: {kind: 'stall', after: 1, bytes: 20}})],
    reads: 1,
    pending: true,
    reached: isWaiting,
    model: [true],
    stored: [GO, ONE],
  },
  {
    name: 'not streamed, before the headers',
    replies: [chunks(['one'], {fault: {kind: 'stall', after: 'request'}})],
    runConfig: {streamingMode: StreamingMode.NONE},
    reads: 0,
    pending: true,
    reached: asked,
    model: [true],
    stored: [GO],
  },
  {
    name: 'not streamed, in the middle of the body',
    replies: [chunks(['one'], {fault: {kind: 'stall', after: 0, bytes: 30}})],
    runConfig: {streamingMode: StreamingMode.NONE},
    reads: 0,
    pending: true,
    reached: (scene) => scene.headers.then(() => turns()),
    model: [true],
    stored: [GO],
  },
  {
    name: 'on Vertex AI, before the headers',
    replies: [chunks([], {fault: {kind: 'stall', after: 'request'}})],
    gemini: vertex(async () => TOKEN),
    reads: 0,
    pending: true,
    reached: asked,
    model: [true],
    stored: [GO],
  },
  {
    name: 'on Vertex AI, in mid stream',
    replies: [chunks(['one', 'two'], {fault: {kind: 'stall', after: 1}})],
    gemini: vertex(async () => TOKEN),
    reads: 1,
    pending: true,
    reached: isWaiting,
    model: [true],
    stored: [GO, ONE],
  },
  {
    name: 'on Vertex AI, while a token is fetched',
    replies: [answer('unused')],
    gemini: vertex(() => (tokensAsked.push(true), new Promise(() => {}))),
    reads: 0,
    pending: true,
    reached: () => until(() => tokensAsked.splice(0).length > 0),
    model: [],
    llmCalls: 1,
    stored: [GO],
  },
  {
    name: 'during a back-off',
    replies: [failure({code: 429, retryDelay: '20s'}), answer('unused')],
    reads: 0,
    pending: true,
    reached: async (scene) => {
      await (
        await scene.server.nextRequest()
      ).closed;
      await until(() => scene.clock.delays.includes(20_000));
    },
    model: [false],
    stored: [GO],
  },
  {
    name: 'while tools run',
    replies: [calls([a, b]), answer('unused')],
    tools: (service) => [fetching(service, 'a'), fetching(service, 'b')],
    reads: 2,
    pending: true,
    reached: (scene) => Promise.all([scene.service.nextRequest(), scene.service.nextRequest()]),
    model: [false],
    service: [true, true],
    stored: [GO, 'root: a({}) b({})', `root: a=${STARTED} b=${STARTED}`],
  },
  {
    name: 'while one tool runs and another is ready',
    replies: [calls([{name: 'quick'}, a]), answer('unused')],
    tools: (service) => [quick, fetching(service, 'a')],
    reads: 2,
    pending: true,
    reached: (scene) => scene.service.nextRequest(),
    model: [false],
    service: [true],
    stored: [GO, 'root: quick({}) a({})', `root: quick=${READY} a=${STARTED}`],
  },
  {
    name: 'while tools queue',
    replies: [calls([a, b, c]), answer('unused')],
    tools: (service) => [fetching(service, 'a'), fetching(service, 'b'), fetching(service, 'c')],
    runConfig: {maxConcurrentTools: 1},
    reads: 2,
    pending: true,
    reached: (scene) => scene.service.nextRequest(),
    model: [false],
    service: [true],
    stored: [GO, 'root: a({}) b({}) c({})', `root: a=${STARTED} b=${NOT_STARTED} c=${NOT_STARTED}`],
  },
  {
    name: 'while tools wait for those before them',
    replies: [calls([{name: 'quick'}, a, b]), answer('unused')],
    tools: (service) => [quick, fetching(service, 'a'), fetching(service, 'b')],
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
    reads: 2,
    pending: true,
    reached: (scene) => scene.service.nextRequest(),
    model: [false],
    service: [true],
    stored: [GO, 'root: quick({}) a({}) b({})', `root: quick=${READY} a=${STARTED} b=${NOT_STARTED}`],
  },
  {
    name: 'between the calls and their tools',
    replies: [calls([a, b]), answer('unused')],
    tools: (service) => [fetching(service, 'a'), fetching(service, 'b')],
    reads: 2,
    pending: false,
    model: [false],
    stored: [GO, 'root: a({}) b({})', `root: a=${NOT_STARTED} b=${NOT_STARTED}`],
  },
  {
    name: 'while a tool runs that has shown its progress',
    replies: [calls([a]), answer('unused')],
    tools: (service) => [showing(service, 'a')],
    reads: 3,
    pending: true,
    reached: (scene) => scene.service.nextRequest(),
    model: [false],
    service: [true],
    stored: [GO, 'root: a({})', `root: a=${STARTED}`],
  },
  {
    name: 'while tools run, between two next() calls',
    replies: [calls([a, b]), answer('unused')],
    tools: (service) => [showing(service, 'a'), fetching(service, 'b')],
    reads: 3,
    pending: false,
    reached: (scene) => Promise.all([scene.service.nextRequest(), scene.service.nextRequest()]),
    model: [false],
    service: [true, true],
    stored: [GO, 'root: a({}) b({})', `root: a=${STARTED} b=${STARTED}`],
  },
  {
    name: 'while tools queue, between two next() calls',
    replies: [calls([a, b]), answer('unused')],
    tools: (service) => [showing(service, 'a'), fetching(service, 'b')],
    runConfig: {maxConcurrentTools: 1},
    reads: 3,
    pending: false,
    reached: (scene) => scene.service.nextRequest(),
    model: [false],
    service: [true],
    stored: [GO, 'root: a({}) b({})', `root: a=${STARTED} b=${NOT_STARTED}`],
  },
  {
    name: 'between the responses and the next request',
    replies: [calls([{name: 'quick'}]), answer('unused')],
    tools: () => [quick],
    reads: 3,
    pending: false,
    model: [false],
    stored: [GO, 'root: quick({})', `root: quick=${READY}`],
  },
  {
    name: 'while the second request waits for its headers',
    replies: [calls([{name: 'quick'}]), chunks([], {fault: {kind: 'stall', after: 'request'}})],
    tools: () => [quick],
    reads: 3,
    pending: true,
    reached: (scene) => scene.server.nextRequest().then(() => asked(scene)),
    model: [false, true],
    stored: [GO, 'root: quick({})', `root: quick=${READY}`],
  },
  {
    name: "while the store writes the user's message",
    replies: [answer('unused')],
    slowAppend: 1,
    reads: 0,
    pending: true,
    reached: (scene) => scene.store.writing,
    after: (scene) => scene.store.open(),
    model: [],
    stored: [GO],
  },
  {
    name: 'while the store writes the calls',
    replies: [calls([a]), answer('unused')],
    tools: (service) => [fetching(service, 'a')],
    slowAppend: 2,
    reads: 1,
    pending: true,
    reached: (scene) => scene.store.writing,
    after: (scene) => scene.store.open(),
    model: [false],
    stored: [GO, 'root: a({})', `root: a=${NOT_STARTED}`],
  },
  {
    name: 'while the store writes the responses',
    replies: [calls([{name: 'quick'}]), answer('unused')],
    tools: () => [quick],
    slowAppend: 3,
    reads: 2,
    pending: true,
    reached: (scene) => scene.store.writing,
    after: (scene) => scene.store.open(),
    model: [false],
    stored: [GO, 'root: quick({})', `root: quick=${READY}`],
  },
  {
    name: 'while the store writes the reply',
    replies: [answer('one')],
    slowAppend: 2,
    reads: 1,
    pending: true,
    reached: (scene) => scene.store.writing,
    after: (scene) => scene.store.open(),
    model: [false],
    stored: [GO, 'root: "one"'],
  },
  {
    name: 'between the last event and the end',
    replies: [answer('one')],
    reads: 2,
    pending: false,
    model: [false],
    stored: [GO, 'root: "one"'],
  },
];

async function* endless(): AsyncGenerator<string> {
  yield 'one';
  for (let n = 2; ; n++) yield `, ${n}`;
}
