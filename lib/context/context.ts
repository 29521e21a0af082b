import type {Lifetime} from '../async/lifetime.ts';
import type {BaseArtifactService} from '../artifacts/base-artifact-service.ts';
import type {Content, Part} from '../content.ts';
import {ContextRevokedError, expectOption} from '../errors.ts';
import type {EventActions} from '../events/event-actions.ts';
import type {BaseMemoryService, SearchMemoryResponse} from '../memory/base-memory-service.ts';
import type {Session} from '../sessions/session.ts';
import {State} from '../sessions/state.ts';
import type {ContextOptions, ContextSource} from './context-options.ts';
import type {ToolConfirmation} from './requests.ts';

/**
 * What tools and callbacks get of a run. Its members can be taken apart: `({abortSignal, state}) => ...`.
 *
 * It lives as long as the call that it was made for. Afterwards `abortSignal` and the ids still answer; everything else throws
 * {@link ContextRevokedError}, since what it wrote would be lost.
 */
export class Context {
  /** The run. */
  readonly invocationId: string;
  /** The agent that calls. */
  readonly agentName: string;
  readonly userId: string;
  readonly sessionId: string;
  readonly appName: string;
  /** The function call that a tool answers; `undefined` outside a tool. */
  readonly functionCallId: string | undefined;
  /** The answer to the call's request for confirmation; `undefined` where there was none. */
  readonly toolConfirmation: ToolConfirmation | undefined;
  readonly #source: ContextSource;
  readonly #life: Lifetime;
  readonly #actions: EventActions;
  readonly #base: Readonly<Record<string, unknown>> | undefined;
  readonly #authResponse: unknown;
  #state: State | undefined;
  #revoked = false;

  constructor({source, actions, life, state, functionCallId, granted}: ContextOptions) {
    this.invocationId = source.invocationId;
    this.agentName = source.agentName;
    this.userId = source.session.userId;
    this.sessionId = source.session.id;
    this.appName = source.session.appName;
    this.functionCallId = functionCallId;
    this.toolConfirmation = granted?.toolConfirmation;
    this.#authResponse = granted?.authResponse;
    this.#source = source;
    this.#life = life;
    this.#actions = actions;
    this.#base = state;
  }

  /** Ends the work: fires at the run's stop and at the call's own deadline. Always there. */
  get abortSignal(): AbortSignal {
    return this.#life.signal;
  }

  /** The session's state. A write is stored with the Event that this call leads to. */
  get state(): State {
    this.#check('state');
    this.#state ??= new State(this.#base ?? this.#source.session.state, this.#actions.stateDelta, () => this.#check('state'));
    return this.#state;
  }

  /** What the Event that this call leads to will do besides. */
  get actions(): EventActions {
    this.#check('actions');
    return this.#actions;
  }

  /** ADK's other name for `actions`. */
  get eventActions(): EventActions {
    return this.actions;
  }

  /** The message that started the run. */
  get userContent(): Content | undefined {
    this.#check('userContent');
    return this.#source.userContent;
  }

  /** The runner's; `undefined` where it has none. */
  get memoryService(): BaseMemoryService | undefined {
    this.#check('memoryService');
    return this.#source.run?.services?.memoryService;
  }

  /** The runner's; `undefined` where it has none. */
  get artifactService(): BaseArtifactService | undefined {
    this.#check('artifactService');
    return this.#source.run?.services?.artifactService;
  }

  /** What earlier sessions of the user hold that matches the query. Rejects where the runner has no memory service. */
  async searchMemory(query: string): Promise<SearchMemoryResponse> {
    return given(this.memoryService, 'memoryService').searchMemory({...this.#key(), query});
  }

  /** The names of the session's and the user's artifacts. These three reject where the runner has no artifact service. */
  async listArtifacts(): Promise<string[]> {
    return given(this.artifactService, 'artifactService').listArtifactKeys(this.#key());
  }

  /** One version of an artifact, the latest by default; `undefined` where there is none. */
  async loadArtifact(filename: string, version?: number): Promise<Part | undefined> {
    return given(this.artifactService, 'artifactService').loadArtifact({...this.#key(), filename, version});
  }

  /** Saves an artifact's next version and gives its number, which the Event that this call leads to tells in `artifactDelta`. */
  async saveArtifact(filename: string, artifact: Part): Promise<number> {
    const version = await given(this.artifactService, 'artifactService').saveArtifact({...this.#key(), filename, artifact});
    this.actions.artifactDelta[filename] = version;
    return version;
  }

  /** The session as it stands: its Events up to this call. Read only. */
  get session(): Session {
    this.#check('session');
    return this.#source.session;
  }

  /**
   * Asks the user of the app before this call goes on: what the body returns is provisional, the run ends waiting, and after the answer
   * the body runs again with `toolConfirmation`. A refused call does not run again.
   *
   * @param request - `hint`: what to confirm, in words. `payload`: JSON that goes with it, and may come back changed
   * @throws {@link InvalidOptionError} outside a tool
   */
  requestConfirmation({hint, payload}: {readonly hint?: string; readonly payload?: unknown} = {}): void {
    this.actions.requestedToolConfirmations[this.#callId()] = {confirmed: false, hint, payload};
  }

  /**
   * Asks for a credential, as `requestConfirmation` asks for a word: after the answer the body runs again, and `getAuthResponse()` has it.
   *
   * @param authConfig - JSON that says what is wanted
   * @throws {@link InvalidOptionError} outside a tool
   */
  requestCredential(authConfig: unknown): void {
    this.actions.requestedAuthConfigs[this.#callId()] = authConfig ?? null;
  }

  /** The answer to the call's request for a credential; `undefined` where there was none. Its argument is ADK's; a call has one credential. */
  getAuthResponse(_authConfig?: unknown): unknown {
    return this.#authResponse;
  }

  /** @internal */
  get source(): ContextSource {
    return this.#source;
  }

  /** @internal */
  get life(): Lifetime {
    return this.#life;
  }

  /** @internal Ends it: whoever still holds it can no longer read or write. */
  revoke(): void {
    this.#revoked = true;
  }

  #callId(): string {
    expectOption(!!this.functionCallId, 'context', 'that of a tool, whose call can wait', this.agentName);
    return this.functionCallId;
  }

  #key(): {appName: string; userId: string; sessionId: string} {
    const {appName, userId, sessionId} = this;
    return {appName, userId, sessionId};
  }

  #check(member: string): void {
    if (this.#revoked) throw new ContextRevokedError(member);
  }
}

function given<T>(service: T | undefined, name: string): T {
  expectOption(service !== undefined, name, 'an option of the runner', service);
  return service;
}

/** ADK's name for the context of a tool. */
export type ToolContext = Context;
/** ADK's name for the context of a callback. */
export type CallbackContext = Context;
