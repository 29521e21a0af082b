import type {FunctionCall, FunctionResponse, Part, Transcription} from '../content.ts';
import {isUserRequest} from '../context/requests.ts';
import {expectOption} from '../errors.ts';
import {createEvent, type Event} from '../events/event.ts';
import type {EventActions} from '../events/event-actions.ts';
import {checkValues, isAnything, isBoolean, isName, isObject, isString, optional, type Check, type OptionSpec} from '../schema/options.ts';
import {toCamelCase} from './camel-case.ts';

/**
 * Reads the Events of a session that comes from elsewhere, before any of it is stored. What later runs read of them has the type that those
 * runs rely on; what Sluice does not know is kept as it is.
 *
 * @throws {@link InvalidOptionError} naming the path of what no Event has
 */
export function readEvents(events: unknown): Event[] {
  expectOption(Array.isArray(events), 'body.events', 'an array of Events', events);
  return (events as readonly unknown[]).map((given, index) => readEvent(`body.events[${index}]`, toCamelCase(given)));
}

function readEvent(path: string, given: unknown): Event {
  const event = checkedRecord<Event>(path, given, EVENT);
  const actions = checkedRecord<EventActions>(`${path}.actions`, event.actions ?? {}, ACTIONS);
  const {parts = []} = checkedRecord<{parts: unknown[]}>(`${path}.content`, event.content ?? {}, CONTENT);
  for (const [at, part] of parts.entries()) checkPart(`${path}.content.parts[${at}]`, part);
  for (const key of ['inputTranscription', 'outputTranscription'] as const) {
    checkedRecord<Transcription>(`${path}.${key}`, event[key] ?? {}, TRANSCRIPTION);
  }
  return createEvent({...event, actions});
}

function checkPart(path: string, given: unknown): void {
  const {functionCall, functionResponse, inlineData, fileData} = checkedRecord<Part>(path, given, PART);
  checkedRecord<FunctionCall>(`${path}.functionCall`, functionCall ?? {}, CALL);
  checkedRecord<FunctionResponse>(`${path}.functionResponse`, functionResponse ?? {}, RESPONSE);
  checkedRecord<Media>(`${path}.inlineData`, inlineData ?? {}, MEDIA);
  checkedRecord<Media>(`${path}.fileData`, fileData ?? {}, MEDIA);
}

/** A record whose fields, as far as they are there, pass their checks. */
function checkedRecord<T extends object>(path: string, given: unknown, spec: Partial<OptionSpec<T>>): Partial<T> {
  expectOption(isObject.accepts(given), path, isObject.expected, given);
  checkValues<T>(path, given as T, spec);
  return given as Partial<T>;
}

interface Media {
  readonly mimeType: string;
  readonly data: string;
  readonly fileUri: string;
}

function isListOf({expected, accepts}: Check): Check {
  return {expected: `an array in which each is ${expected}`, accepts: (value) => Array.isArray(value) && value.every(accepts)};
}

function isRecordOf({expected, accepts}: Check): Check {
  return {
    expected: `an object in which each value is ${expected}`,
    accepts: (value) => isObject.accepts(value) && Object.values(value as object).every(accepts),
  };
}

const [aString, aBoolean, aRecord] = [optional(isString), optional(isBoolean), optional(isObject)];

const EVENT: OptionSpec<Event> = {
  id: optional(isName),
  invocationId: aString,
  author: isName,
  timestamp: optional({expected: 'a number of milliseconds since 1970', accepts: Number.isFinite}),
  actions: aRecord,
  content: aRecord,
  partial: optional({expected: 'absent or false: only whole Events are stored', accepts: (value) => value === false}),
  longRunningToolIds: optional(isListOf(isString)),
  branch: aString,
  errorCode: aString,
  errorMessage: aString,
  finishReason: aString,
  usageMetadata: aRecord,
  groundingMetadata: aRecord,
  citationMetadata: aRecord,
  modelVersion: aString,
  customMetadata: aRecord,
  output: isAnything,
  turnComplete: aBoolean,
  interrupted: aBoolean,
  generationComplete: aBoolean,
  inputTranscription: aRecord,
  outputTranscription: aRecord,
  toolCallCancellation: aRecord,
  goAway: aRecord,
  liveSessionResumptionUpdate: aRecord,
  liveSessionId: aString,
};

const ACTIONS: OptionSpec<EventActions> = {
  stateDelta: aRecord,
  artifactDelta: optional(isRecordOf({expected: 'a number', accepts: Number.isFinite})),
  requestedAuthConfigs: aRecord,
  requestedToolConfirmations: optional(isRecordOf(isObject)),
  skipSummarization: aBoolean,
  transferToAgent: aString,
  escalate: aBoolean,
  endOfAgent: aBoolean,
  rewindBeforeInvocationId: aString,
};

const CONTENT: OptionSpec<{parts: unknown[]; role: string}> = {
  role: aString,
  parts: optional({expected: 'an array of parts', accepts: Array.isArray}),
};

const PART: Partial<OptionSpec<Part>> = {
  text: aString,
  thought: aBoolean,
  thoughtSignature: aString,
  functionCall: aRecord,
  functionResponse: aRecord,
  inlineData: aRecord,
  fileData: aRecord,
  executableCode: aRecord,
  codeExecutionResult: aRecord,
  videoMetadata: aRecord,
};

const CALL: Partial<OptionSpec<FunctionCall>> = {
  id: aString,
  // Who could bring one along could have any call run by answering it.
  name: {
    expected: 'the name of a tool, and no request to the user of an app',
    accepts: (name) => aString.accepts(name) && !isUserRequest(name as string | undefined),
  },
  args: aRecord,
};
const RESPONSE: Partial<OptionSpec<FunctionResponse>> = {
  id: aString,
  name: aString,
  response: aRecord,
  parts: optional(isListOf(isObject)),
  willContinue: aBoolean,
};
const MEDIA: OptionSpec<Media> = {mimeType: aString, data: aString, fileUri: aString};
const TRANSCRIPTION: Partial<OptionSpec<Transcription>> = {text: aString, finished: aBoolean};
