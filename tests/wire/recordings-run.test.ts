// Recorded traffic through whole runs: what comes out of a run, and what is stored of it, is what an independent reader found in each body.
import pLimit from 'p-limit';
import {describe, expect, test} from 'vitest';
import {
  BaseTool,
  getFunctionResponses,
  InMemoryRunner,
  LlmAgent,
  ModelError,
  StreamingMode,
  type Event,
  type FunctionCall,
  type RunAsyncToolRequest,
  type RunOutcome,
  type LlmResponse,
} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {collect, type Collected} from 'sluice/testing';
import {
  chunkings,
  expectedOutcome,
  loadRecordings,
  outcomeOf,
  serveRecordings,
  spoiledBySdk,
  type Outcome,
  type Recording,
} from '../gemini/recordings.ts';
import {wireCallId} from '../../lib/models/call-id.ts';
import {expectValid} from '../stories/kit.ts';

const recordings = loadRecordings();

/** How often a reply that says nothing, or whose call cannot be read, is asked for. */
const ASKED = 3;

describe.skipIf(recordings.length === 0)('recorded traffic', () => {
  test.each(Object.keys(chunkings))('comes out of a run as recorded when each body is served %s', {timeout: 120_000}, async (chunking) => {
    await using server = await serveRecordings(recordings);
    const limit = pLimit(24);
    const wrong: unknown[] = [];

    const check = async (recording: Recording): Promise<void> => {
      try {
        expectAsRecorded(await play(recording, server.baseUrl(recording, chunking)), recording);
      } catch (error) {
        // All of them are told, and not the first one only.
        wrong.push([recording.id, error]);
      }
    };
    await Promise.all(recordings.map((recording) => limit(() => check(recording))));

    expect(wrong).toEqual([]);
  });
});

interface Played extends Collected<Event, RunOutcome> {
  readonly stored: readonly Event[];
  /** The arguments that the tools were given, in call order. */
  readonly ran: readonly FunctionCall[];
}

/** Takes any arguments, and ends the run with its answer: what a model would say to that was not recorded. */
class RecordedTool extends BaseTool {
  readonly #ran: FunctionCall[];

  constructor(name: string, ran: FunctionCall[]) {
    super({name, description: 'Stands in for the tool of the recording.'});
    this.#ran = ran;
  }

  override async runAsync({args, toolContext}: RunAsyncToolRequest): Promise<unknown> {
    this.#ran.push({name: this.name, args});
    toolContext.actions.skipSummarization = true;
    return {done: true};
  }
}

async function play(recording: Recording, baseUrl: string): Promise<Played> {
  const {api, backend, expect: expected} = recording;
  const ran: FunctionCall[] = [];
  const names = new Set(expected.calls.map(({name}) => name));
  const model = new Gemini({model: 'm', apiKey: 'k', vertexai: backend === 'vertex', attempts: 1, httpOptions: {baseUrl}});
  const agent = new LlmAgent({name: 'root', model, tools: [...names].map((name) => new RecordedTool(name, ran))});
  const runner = new InMemoryRunner({agent, appName: 'app'});
  const session = await runner.sessionService.createSession({appName: 'app', userId: 'u'});
  const run = runner.runAsync({
    userId: 'u',
    sessionId: session.id,
    newMessage: {role: 'user', parts: [{text: 'hi'}]},
    runConfig: {streamingMode: api === 'streamGenerateContent' ? StreamingMode.SSE : StreamingMode.NONE},
  });
  const collected = await collect(run);
  const stored = await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: session.id});
  return {...collected, ran, stored: stored?.events ?? []};
}

function expectAsRecorded(played: Played, recording: Recording): void {
  expectValid(played.stored);
  if (spoiledBySdk[recording.id] !== undefined) expect(played.error).toBeInstanceOf(ModelError);
  else expect(whatCame(played, recording)).toEqual(whatIsWanted(recording, played.events.length > 0));
}

/** All that a reader, and whoever looks at the outcome and into the session later, learns of a reply. */
interface Told {
  readonly kind: string;
  readonly outcome: Outcome;
  readonly llmCalls: number;
  readonly errorCode: string | undefined;
  /** The sum over all calls of the run; `undefined` where the run failed. */
  readonly usage: unknown;
  /** The calls as the tools saw them. */
  readonly ran: readonly FunctionCall[];
  /** The names in the Event that answers the calls. */
  readonly answered: readonly (string | undefined)[];
  /** The authors of what was stored. */
  readonly stored: readonly string[];
}

function whatCame({events, error, outcome, ran, stored}: Played, recording: Recording): Told {
  if (error !== undefined && !(error instanceof ModelError)) throw error;
  const whole = events.filter(({partial}) => !partial);
  const reply = whole.find(({content}) => content?.role !== 'user');
  const answers = whole.filter((event) => event !== reply);
  if (reply) {
    // An attempt that was asked again has shown its pieces too.
    const shown = recording.api === 'generateContent' ? [] : Array.from({length: outcome.llmCalls}, () => reply);
    expect(piecesOf(events.filter(({partial}) => partial))).toEqual(piecesOf(shown));
    expect(stored.find(({id}) => id === reply.id)).toEqual(reply);
  }
  return {
    kind: outcome.kind,
    outcome: outcomeOf(error ?? withServerIds(reply), recording),
    llmCalls: outcome.llmCalls,
    errorCode: outcome.errorCode,
    usage: error ? undefined : outcome.usage,
    ran,
    answered: answers.flatMap((event) => getFunctionResponses(event).map(({name}) => name)),
    stored: stored.map(({author}) => author),
  };
}

function whatIsWanted(recording: Recording, streamed: boolean): Told {
  const adapter = expectedOutcome(recording);
  if ('error' in adapter) {
    const stored = streamed ? ['user', 'root'] : ['user'];
    return {kind: 'error', outcome: adapter, llmCalls: 1, errorCode: undefined, usage: undefined, ran: [], answered: [], stored};
  }
  const again = isAskedAgain(adapter, recording);
  const errorCode = adapter.errorCode ?? (again ? 'MODEL_RETURNED_NO_CONTENT' : null);
  // What the server has run itself, and answered within its reply, is nobody else's to run.
  const calls = recording.raw.includes('functionResponse') ? [] : adapter.calls.map(({name, args}) => ({name, args}));
  return {
    kind: 'done',
    outcome: {...adapter, errorCode},
    llmCalls: again ? ASKED : 1,
    errorCode: errorCode ?? undefined,
    usage: usageOfRun(recording.expect.usage, again ? ASKED : 1),
    ran: errorCode === null ? calls : [],
    answered: calls.map(({name}) => name),
    stored: calls.length > 0 ? ['user', 'root', 'root'] : ['user', 'root'],
  };
}

/** A reply that says nothing and not why, and one with a call that cannot be read. */
function isAskedAgain({errorCode, text, thoughts, calls}: Exclude<Outcome, {error: object}>, {raw}: Recording): boolean {
  if (errorCode !== null) return errorCode === 'MALFORMED_FUNCTION_CALL';
  return text === '' && thoughts === '' && calls.length === 0 && !raw.includes('inlineData');
}

/** The numbers of a usage, once for each call. */
function usageOfRun(usage: Recording['expect']['usage'], calls: number): unknown {
  if (usage === null) return undefined;
  return Object.fromEntries(Object.entries(usage).flatMap(([key, value]) => (typeof value === 'number' ? [[key, value * calls]] : [])));
}

/** The reply with the ids that the server gave, and none where it gave none. */
function withServerIds(reply: Event | undefined): LlmResponse {
  if (reply === undefined) throw new Error('The run ended without a reply and without an error');
  if (!reply.content) return reply;
  const parts = (reply.content.parts ?? []).map((part) => {
    if (part.functionCall === undefined) return part;
    const {id: own = '', ...call} = part.functionCall;
    const id = wireCallId(own);
    return {...part, functionCall: id === undefined ? call : {...call, id}};
  });
  return {...reply, content: {...reply.content, parts}};
}

interface Pieces {
  readonly text: string;
  readonly thoughts: string;
  readonly calls: readonly unknown[];
}

/** What Events say, joined: the same for the pieces of a reply and for the whole. */
function piecesOf(events: readonly Event[]): Pieces {
  const parts = events.flatMap(({content}) => content?.parts ?? []);
  const textOf = (thought: boolean): string => parts.map((part) => (Boolean(part.thought) === thought ? (part.text ?? '') : '')).join('');
  // While arguments are streamed a call comes in fragments, of which only the first has a name.
  const calls = parts.flatMap(({functionCall}) => (functionCall?.name === undefined ? [] : [[functionCall.id, functionCall.name]]));
  return {text: textOf(false), thoughts: textOf(true), calls};
}
