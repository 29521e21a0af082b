import {LlmAgent} from '../../agents/llm/llm-agent.ts';
import type {Content} from '../../content.ts';
import {getFunctionCalls, getFunctionResponses, type Event} from '../../events/event.ts';
import {OUTPUT_TOOL} from '../../flow/output-format.ts';
import type {LlmResponse} from '../../models/llm-response.ts';
import type {Parameters} from '../../schema/parameters.ts';
import {validateArguments} from '../../schema/validate-arguments.ts';
import {directStop} from './expected-ends.ts';
import {tell} from './tell.ts';
import type {Observed} from './observed.ts';
import {agentsOf, runsBranches} from './scenario.ts';
import {demand} from './schedule-error.ts';
import type {WatchedCall} from './watched-call.ts';

/** What models said is kept, a cut reply marked as such; and nothing stands there that none of them said. */
export function checkTexts(observed: Observed, own: readonly Event[]): void {
  const {reader, watch, scenario} = observed;
  const calls = watch.calls.filter(({kind, caller, inTool}) => kind === 'model' && caller === 'run' && !inTool);
  const hooked = agentsOf(scenario).some(
    (agent) =>
      agent instanceof LlmAgent &&
      agent.beforeModelCallback.length + agent.afterModelCallback.length + agent.onModelErrorCallback.length > 0,
  );
  checkMarks(observed, own);
  if (hooked) return;
  const shown = new Map<string, string>();
  for (const {event} of reader.events) {
    if (event.partial && getFunctionResponses(event).length === 0) shown.set(event.id, (shown.get(event.id) ?? '') + textOf(event.content));
  }
  for (const [id, text] of shown) {
    const stored = own.find((event) => event.id === id);
    demand(
      textOf(stored?.content).startsWith(text) || (!stored && isRefused(text, observed, calls)),
      'kept',
      () => `the reader was shown ${tell(text)}, and stored is ${tell(textOf(stored?.content))}`,
    );
  }
  checkSaid(observed, own, calls);
  checkInvented(own, calls, watch.calls);
}

/** Whether a whole reply is no output of the form that was asked for: then the model is asked again, and the reply forgotten. */
function isRefused(text: string, {scenario}: Observed, calls: readonly WatchedCall[]): boolean {
  const isWhole = calls.some(({yielded, ended}) => ended && textsOf(yielded.map(({value}) => value as LlmResponse)) === text);
  return isWhole && agentsOf(scenario).some((agent) => agent instanceof LlmAgent && agent.outputFormat && !fits(text, agent.outputFormat));
}

function fits(text: string, format: Parameters): boolean {
  try {
    const validated = validateArguments(format, JSON.parse(text));
    // A validator that takes its time leaves it open, and nothing is excused.
    if (validated instanceof Promise) validated.catch(() => {});
    return true;
  } catch {
    return false;
  }
}

/** Text that was cut is marked, and comes without calls. */
function checkMarks({outcome, scenario}: Observed, own: readonly Event[]): void {
  for (const event of own) {
    if (event.customMetadata?.['stopped'] !== true) continue;
    demand(getFunctionCalls(event).length === 0, 'session', () => `a reply that was cut has calls: ${tell(event.content)}`);
    demand(
      (outcome.kind !== 'done' && outcome.kind !== 'waiting') || runsBranches(scenario),
      'invented',
      () => `${tell(event.content)} is marked as cut, and nobody stopped the run`,
    );
  }
}

/** What a model had said when a stop came, and the run had had time to see, is stored. */
function checkSaid(observed: Observed, own: readonly Event[], calls: readonly WatchedCall[]): void {
  const stop = directStop(observed);
  if (!stop) return;
  for (const call of calls) {
    const said = textsOf(call.yielded.filter(({at}) => at.turn < stop.at.turn).map(({value}) => value as LlmResponse));
    if (said === '' || call.ended) continue;
    demand(
      own.some((event) => textOf(event.content).startsWith(said)),
      'kept',
      () => `the model had said ${tell(said)}, and it is not stored`,
    );
  }
}

function checkInvented(own: readonly Event[], calls: readonly WatchedCall[], all: readonly WatchedCall[]): void {
  const replies = calls.map(({yielded}) => yielded.map(({value}) => value as LlmResponse));
  const given = new Set(all.flatMap(({kind, yielded}) => (kind === 'agent' ? yielded.map(({value}) => (value as Event).id) : [])));
  const answers = all.flatMap(({kind, outcome}) => (kind === 'hook' && outcome && 'value' in outcome ? JSON.stringify(outcome.value) : []));
  for (const event of own) {
    const text = textOf(event.content);
    if (event.author === 'user' || getFunctionResponses(event).length > 0 || given.has(event.id) || text === '') continue;
    const isCut = event.customMetadata?.['stopped'] === true;
    const isSaid = replies.some((reply) => (isCut ? textsOf(reply).startsWith(text) : textsOf(reply) === text));
    const isHooks = answers.some((answer) => answer?.includes(JSON.stringify(text)));
    const isOutput = own.some((other) =>
      getFunctionResponses(other).some(({name, response}) => name === OUTPUT_TOOL && text === JSON.stringify(response)),
    );
    demand(isSaid || isHooks || isOutput, 'invented', () => `${tell(text)} is stored, and no model said so`);
  }
}

/** The text of a reply: of its whole responses, or of its pieces where none has come. */
function textsOf(responses: readonly LlmResponse[]): string {
  const whole = responses.filter(({partial}) => !partial);
  return (whole.length > 0 ? whole : responses).map(({content}) => textOf(content)).join('');
}

function textOf(content: Content | undefined): string {
  return (content?.parts ?? []).map(({text = ''}) => text).join('');
}
