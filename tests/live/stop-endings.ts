/** The ends that come from within a live run, and the situations in which they come. */
import {HookError, LiveOverflowError, LlmCallsLimitExceededError, ModelError, type RunKind} from 'sluice';
import {fetching} from '../wire/stop-scene.ts';
import {GO, heard, STARTED} from './stop-moments.ts';
import type {Scene, SceneOptions} from './stop-scene.ts';

/** Where a run stands when it ends. Its reader has got one Event. */
export interface Situation extends SceneOptions {
  readonly name: string;
  /** What the model has said in the turn that goes on. */
  readonly spoken?: string;
  /** Before what the end leaves, and after it. */
  readonly stored: readonly [before: readonly string[], after: readonly string[]];
  /** What the server has got over each connection. */
  readonly connections: readonly string[];
  readonly runsTool?: boolean;
  readonly isQueueClosed?: boolean;
}

const calling = heard((session) => void session.toolCall([{name: 'a', id: 'a'}]));
const CALL = [[GO, 'root: a({})'], [`root: a=${STARTED}`]] as const;

export const situations: readonly Situation[] = [
  {name: 'while a tool runs', sessions: [calling], runsTool: true, stored: CALL, connections: ['setup clientContent']},
  {
    name: 'while a tool runs, after the queue was closed',
    sessions: [calling],
    input: (scene) => {
      scene.say('go');
      scene.queue.close();
    },
    runsTool: true,
    isQueueClosed: true,
    stored: CALL,
    connections: ['setup clientContent'],
  },
  {
    name: 'in mid turn',
    sessions: [heard((session) => session.say('one'))],
    spoken: 'one',
    stored: [[GO], []],
    connections: ['setup clientContent'],
  },
];

export interface Ending extends SceneOptions {
  readonly name: string;
  readonly settled: RunKind;
  readonly isReason: (reason: unknown) => boolean;
  /** Makes it happen. */
  readonly happen: (scene: Scene) => void;
  readonly fits?: (situation: Situation) => boolean;
  /** What the reader still gets. */
  readonly shown?: (spoken: string) => readonly string[];
  /** What is stored of it. Default: what was said, if anything was. */
  readonly stored?: (spoken: string) => readonly string[];
  /** Whether the model begins another reply with it, where it is not in the middle of one. */
  readonly isReply?: boolean;
  /** Whether it comes about only where nobody reads. */
  readonly needsIdleReader?: boolean;
  /** Whether it is the server that closes the connection. */
  readonly byServer?: boolean;
}

export const BOOM: RangeError = new RangeError('boom');
const MUCH = 'much'.repeat(1_000);

export const endings: readonly Ending[] = [
  {
    name: 'a hook after the model that throws',
    settled: 'error',
    isReason: (it) => it instanceof HookError && it.hook === 'afterModelCallback' && it.cause === BOOM,
    agent: () => ({
      afterModelCallback: ({response}) => {
        if (response.content?.parts?.[0]?.text === 'boom') throw BOOM;
      },
    }),
    happen: (scene) => scene.session().say('boom'),
  },
  {
    name: 'a hook before a tool that throws',
    settled: 'error',
    isReason: (it) => it instanceof HookError && it.hook === 'beforeToolCallback' && it.cause === BOOM,
    agent: () => ({
      beforeToolCallback: ({tool}) => {
        if (tool.name === 'b') throw BOOM;
      },
    }),
    tools: ({service}) => [fetching(service, 'a'), fetching(service, 'b')],
    happen: (scene) => void scene.session().toolCall([{name: 'b', id: 'b'}]),
    shown: (spoken) => [`root: ${quoted(spoken)}b({})`],
    stored: (spoken) => [`root: ${quoted(spoken)}b({})`, 'root: b={"error":"cancelled","started":false}'],
    isReply: true,
  },
  {
    name: 'more than the reader takes',
    settled: 'error',
    isReason: (it) => it instanceof LiveOverflowError && it.liveBufferBytes === 2_000,
    runConfig: {liveBufferBytes: 2_000},
    needsIdleReader: true,
    happen: (scene) => scene.session().say(MUCH),
    shown: () => [`root: "${MUCH}" [partial]`],
    stored: (spoken) => [`root: "${spoken}${MUCH}" [stopped]`],
    isReply: true,
  },
  {
    name: 'more than the reader takes, in a message that ends the turn',
    settled: 'error',
    isReason: (it) => it instanceof LiveOverflowError,
    runConfig: {liveBufferBytes: 2_000},
    needsIdleReader: true,
    happen: (scene) => scene.session().send({serverContent: {modelTurn: {parts: [{text: MUCH}]}, turnComplete: true}}),
    shown: () => [`root: "${MUCH}" [partial]`],
    stored: (spoken) => [`root: "${spoken}${MUCH}" [turn complete]`],
    isReply: true,
  },
  {
    name: 'more replies of the model than the run may have',
    settled: 'limit',
    isReason: (it) => it instanceof LlmCallsLimitExceededError,
    runConfig: {maxLlmCalls: 1},
    // In the middle of one it begins no other.
    fits: ({spoken}) => spoken === undefined,
    happen: (scene) => scene.session().say('two'),
  },
  {
    name: 'a store that fails once',
    settled: 'error',
    isReason: (it) => it === BOOM,
    happen: (scene) => {
      failOnce(scene, () => true);
      scene.session().say('two');
      scene.session().completeTurn();
    },
    shown: () => ['root: "two" [partial]'],
    // It is the store that has lost it.
    stored: () => [],
    isReply: true,
  },
  {
    name: 'an answer of the user to a call that does not wait',
    settled: 'error',
    isReason: (it) => it instanceof Error && it.name === 'FunctionResponseError',
    fits: ({runsTool, isQueueClosed}) => runsTool === true && !isQueueClosed,
    happen: (scene) => {
      scene.sends.push(scene.queue.sendContent({parts: [{functionResponse: {id: 'nobody', name: 'a', response: {}}}]}));
      // It waits for the call that the model waits for.
      scene.session().cancelToolCalls(['a']);
    },
    shown: () => ['root: [partial, cancels a]'],
  },
  {
    name: 'a server that will hear no more',
    settled: 'error',
    isReason: (it) => it instanceof ModelError && it.closeCode === 1008 && !it.retryable,
    happen: (scene) => scene.session().close(1008, 'Enough.'),
    byServer: true,
  },
];

/** Lets the store fail at the next Event that fits. */
export function failOnce({store}: Scene, fits: (event: {readonly content?: {readonly parts?: readonly object[]}}) => boolean): void {
  const append = store.appendEvent.bind(store);
  store.appendEvent = (request) => {
    if (!fits(request.event)) return append(request);
    store.appendEvent = append;
    return Promise.reject(BOOM);
  };
}

function quoted(spoken: string): string {
  return spoken === '' ? '' : `"${spoken}" `;
}
