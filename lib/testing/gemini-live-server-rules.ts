import {LiveCalls, type LiveCallsState, type WireCall, type WireTool} from './gemini-live-server-calls.ts';
import {isRecord, parseObject, type LiveClientMessage} from './gemini-live-server-inbox.ts';
import type {LiveRefusal} from './gemini-live-server-request.ts';
import {readMessage, type FieldViolation} from './gemini-server-json.ts';

/** What a client said, with names in camel case. */
interface WireMessage {
  readonly setup?: {
    readonly tools?: readonly WireTool[];
    readonly sessionResumption?: {readonly handle?: string};
    readonly generationConfig?: {readonly responseModalities?: readonly string[]};
  };
  readonly clientContent?: object;
  readonly toolResponse?: {readonly functionResponses?: readonly WireResponse[]};
}

interface WireResponse extends WireCall {
  readonly scheduling?: string;
  readonly willContinue?: boolean;
}

/** What a server's message says that its later judgement needs; a script may send anything. */
interface WireServerMessage {
  readonly toolCall?: {readonly functionCalls?: unknown};
  readonly toolCallCancellation?: {readonly ids?: unknown};
  readonly serverContent?: {readonly interrupted?: unknown};
  readonly sessionResumptionUpdate?: {readonly newHandle?: string; readonly resumable?: boolean};
}

/** The handles with which a session can go on in a new connection, and the calls that it had made until then. */
export type LiveHandles = Map<string, LiveCallsState | undefined>;

export interface LiveRulesOptions {
  readonly backend: 'gemini' | 'vertex';
  /** Whether a flaw is a reason to refuse. */
  readonly strict: boolean;
  /** Shared by all sessions of a server. */
  readonly handles: LiveHandles;
}

const modalities = new Set(['MODALITY_UNSPECIFIED', 'TEXT', 'IMAGE', 'AUDIO', 'VIDEO']);
const schedulings = new Set(['SCHEDULING_UNSPECIFIED', 'SILENT', 'WHEN_IDLE', 'INTERRUPT']);

/** Judges what a client sends as Google's server would. */
export class LiveRules {
  readonly #options: LiveRulesOptions;
  #calls: LiveCalls;
  #isSetUp = false;

  constructor(options: LiveRulesOptions) {
    this.#options = options;
    this.#calls = new LiveCalls(options.backend);
  }

  /** Takes note of what the server says. */
  sent(message: Readonly<Record<string, unknown>>): void {
    const {toolCall, toolCallCancellation, serverContent, sessionResumptionUpdate: update} = message as WireServerMessage;
    this.#calls.add(recordsIn(toolCall?.functionCalls));
    this.#calls.cancel(Array.isArray(toolCallCancellation?.ids) ? toolCallCancellation.ids : []);
    // Nobody waits for a call of a turn that was broken off, and Google does not always take it back.
    if (serverContent?.interrupted) this.#calls.cancelAll();
    if (update?.resumable && update.newHandle) this.#options.handles.set(update.newHandle, this.#calls.state);
  }

  /** Takes note of what the client says. Gives a reason to close, or `undefined` where there is none. */
  refusalOf(message: LiveClientMessage): LiveRefusal | undefined {
    const violations: FieldViolation[] = [];
    const read: WireMessage = readMessage(message.body, 'BidiGenerateContentClientMessage', this.#options.backend, violations);
    const refusal = this.#options.strict ? this.#flawOf(message, read, violations) : undefined;
    if (refusal) return refusal;
    const {setup, toolResponse} = read;
    if (setup) this.#setUp(setup);
    for (const response of recordsIn<WireResponse>(toolResponse?.functionResponses)) {
      if (!response.willContinue) this.#calls.answer(response);
    }
    return undefined;
  }

  #setUp({tools, sessionResumption}: NonNullable<WireMessage['setup']>): void {
    this.#isSetUp = true;
    this.#calls = new LiveCalls(this.#options.backend, this.#options.handles.get(sessionResumption?.handle ?? ''));
    this.#calls.declare(tools ?? []);
  }

  #flawOf({text, kind}: LiveClientMessage, read: WireMessage, violations: readonly FieldViolation[]): LiveRefusal | undefined {
    if (kind === 'unknown' && !isRecord(parseObject(text))) {
      return {code: 1007, reason: `Invalid JSON payload received. Unexpected token.\n${text.slice(0, 40)}\n^`};
    }
    if (violations.length > 0) return {code: 1007, reason: violations.map(({description}) => description).join('\n')};
    if ((kind === 'setup') === this.#isSetUp) {
      return {code: 1007, reason: 'setup must be the first message and only the first'};
    }
    return setupFlaw(read, this.#options.handles) ?? this.#responseFlaw(read) ?? this.#turnFlaw(read);
  }

  /** For an answer without a call, neither Google's code nor its words are known. */
  #responseFlaw({toolResponse}: WireMessage): LiveRefusal | undefined {
    for (const [at, {id, scheduling}] of (toolResponse?.functionResponses ?? []).entries()) {
      const path = `tool_response.function_responses[${at}]`;
      const flaw = enumFlaw(`${path}.scheduling`, 'FunctionResponse.Scheduling', scheduling, schedulings);
      if (flaw) return flaw;
      if (id === undefined && this.#options.backend === 'gemini') return {code: 1007, reason: `* ${path}.id: the id of a call is required`};
      if (id !== undefined && !this.#calls.isCalled(id)) return {code: 1008, reason: `* ${path}.id: no function call has the id "${id}"`};
    }
    return undefined;
  }

  #turnFlaw({clientContent}: WireMessage): LiveRefusal | undefined {
    const open = clientContent && this.#calls.blocking;
    if (!open) return undefined;
    const detail = `clientContent came while a call of \`${open.name}\`, which is a blocking function, had no answer`;
    return {code: 1008, reason: 'Operation is not implemented, or supported, or enabled.', detail};
  }
}

/** The objects of a list; none where it is no list. */
function recordsIn<T extends object>(list: unknown): readonly T[] {
  return Array.isArray(list) ? list.filter((item): item is T => isRecord(item)) : [];
}

function setupFlaw({setup}: WireMessage, handles: LiveHandles): LiveRefusal | undefined {
  for (const [at, modality] of (setup?.generationConfig?.responseModalities ?? []).entries()) {
    const path = `setup.generation_config.response_modalities[${at}]`;
    const flaw = enumFlaw(path, 'GenerationConfig.Modality', modality, modalities);
    if (flaw) return flaw;
  }
  const handle = setup?.sessionResumption?.handle;
  if (!handle || handles.has(handle)) return undefined;
  return {code: 1008, reason: 'Requested entity was not found.', detail: `no session offered the resumption handle "${handle}"`};
}

function enumFlaw(path: string, type: string, value: string | undefined, known: ReadonlySet<string>): LiveRefusal | undefined {
  if (value === undefined || known.has(value)) return undefined;
  const name = `type.googleapis.com/google.ai.generativelanguage.v1beta.${type}`;
  return {code: 1007, reason: `Invalid value at '${path}' (${name}), ${JSON.stringify(value)}`};
}
