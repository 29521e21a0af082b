/** The moments at which a live run is stopped, and what each leaves behind: on the sockets of the servers, and in the session. */
import type {Event} from 'sluice';
import type {LiveScript, LiveStep} from 'sluice/testing';
import {idle} from '../stories/kit.ts';
import type {StopMoment} from '../wire/stop-kinds.ts';
import type {Scene, SceneOptions} from './stop-scene.ts';

/** What the end of a run leaves behind. */
export interface Aftermath {
  readonly earlier?: readonly Event[];
  /** Of each connection: the kinds of what the server has got over it, and `left` where the stop closed it. */
  readonly connections: readonly unknown[];
  /** Of each request that the tools' service gets: whether the stop closes it. */
  readonly service?: readonly boolean[];
  /** User code that was entered. Default: the callback after the agent, which is called at every end. */
  readonly entered?: readonly string[];
  readonly stored: readonly string[];
  /** Default: 0. */
  readonly llmCalls?: number;
  /** What does not heed its signal, and is left behind. */
  readonly abandoned?: readonly string[];
  /** What could not be closed. */
  readonly failed?: readonly string[];
  /** Waits for what the stop has ended besides the sockets of the servers. */
  readonly gone?: (scene: Scene) => Promise<unknown>;
}

export interface Moment extends SceneOptions, StopMoment<Scene>, Aftermath {
  readonly name: string;
  readonly earlier?: readonly Event[];
  /** Whether another live run is tried afterwards: the server can be reached, and told what was said in little time. Default: true. */
  readonly isReachable?: boolean;
  /** Kinds of stop that mean something else here. */
  readonly except?: readonly string[];
}

export const GO = 'user: "go"';
export const ONE = 'root: "one" [stopped]';
export const STARTED = '{"error":"cancelled; it may have taken effect","started":true}';
export const NOT_STARTED = '{"error":"cancelled","started":false}';
export const READY = '{"result":"ready"}';
export const AFTER = 'afterAgentCallback';

/** More than the buffers of a loopback connection hold. */
export const MUCH: string = 'much'.repeat(1_500_000);

/** A connection that is accepted, and whose user says something. */
export function heard(...steps: readonly LiveStep[]): LiveScript {
  return [(session) => session.acknowledge(), 'clientContent', ...steps];
}

/** A connection over which the model calls tools, by name. */
export function calling(...names: readonly string[]): LiveScript {
  return heard((session) => void session.toolCall(names.map((name) => ({name, id: name}))));
}

/** What most moments have in common at which tools were called: the reader has got the calls, and waits. */
export const CALLED = {reads: 1, pending: true, connections: ['setup clientContent left'], llmCalls: 1} as const;

/** Lets pass what may still be on its way. */
export async function turns(count = 20): Promise<void> {
  for (let turn = 0; turn < count; turn++) await idle();
}

/** Waits, turn by turn of the event loop, for something that comes by itself. */
export async function until(isThere: () => boolean): Promise<void> {
  while (!isThere()) await idle();
}

/** Waits until so many messages have come over a connection, and for all that follows from them. */
export async function arrived(scene: Scene, count: number, at = 0): Promise<void> {
  await until(() => (scene.server.sessions[at]?.received.length ?? 0) >= count);
  await turns();
}

/** Waits until code of the user's is entered, and for all that follows from it. */
export function entered(what: string): (scene: Scene) => Promise<void> {
  return async (scene) => {
    await until(() => scene.entered.includes(what));
    await turns();
  };
}

/** Waits until so many tools have asked the service. */
export function asked(count: number): (scene: Scene) => Promise<void> {
  return async ({service}) => {
    for (let n = 0; n < count; n++) await service.nextRequest();
    await turns();
  };
}

/** Lets the clock go on for long enough that nobody waits any longer for what does not heed its signal. */
export function passGrace({clock}: Scene): void {
  void clock.pass(400);
}
