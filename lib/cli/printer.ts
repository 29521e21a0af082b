import {HookError, messageOf, ModelError, SluiceError} from '../errors.ts';
import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event} from '../events/event.ts';
import type {Interrupts} from './interrupts.ts';
import {write} from './output.ts';
import {oneLineJson, shortJson} from './printable.ts';
import type {Screen} from './screen.ts';
import {stackOf} from './stack.ts';

/** Shows the Events of runs. */
export interface Printer {
  event(event: Event): Promise<void>;
  /** A run is over; `stopped` where it did not end by itself. */
  end(stopped: boolean): Promise<void>;
}

/** Every Event as a line of JSON on stdout, and nothing else there. */
export function jsonPrinter(interrupts: Interrupts): Printer {
  return {
    event: (event) => write(process.stdout, `${oneLineJson(event)}\n`, interrupts.stop),
    end: async () => {},
  };
}

/** For people: text as it comes, and a line for every call, its progress and its response. */
export function textPrinter(screen: Screen, rootName: string): Printer {
  // By author, since agents may speak at the same time: what was shown of the reply that is not whole yet.
  const shown = new Map<string, string>();
  let speaker = rootName;

  const say = async (event: Event): Promise<void> => {
    const text = stringifyContent(event);
    const before = shown.get(event.author) ?? '';
    if (event.partial) shown.set(event.author, before + text);
    else shown.delete(event.author);
    const fresh = event.partial ? text : text.startsWith(before) ? text.slice(before.length) : '';
    if (fresh === '') return;
    if (event.author !== speaker) await screen.note(`[${event.author}]`);
    speaker = event.author;
    await screen.text(fresh);
  };

  const act = async (event: Event): Promise<void> => {
    const response = event.partial ? 'progress' : 'response';
    for (const {name, args} of event.partial ? [] : getFunctionCalls(event)) await screen.note(`call ${name} ${shortJson(args ?? {})}`);
    for (const {name, response: given} of getFunctionResponses(event)) await screen.note(`${response} ${name} ${shortJson(given ?? {})}`);
    for (const {inlineData, fileData} of event.partial ? [] : (event.content?.parts ?? [])) {
      const file = inlineData ?? fileData;
      if (file) await screen.note(`file ${file.mimeType ?? ''} ${fileData?.fileUri ?? ''}`.trim());
    }
    if (event.errorCode) await screen.problem(`${event.errorCode}: ${event.errorMessage ?? 'the reply has no usable content'}`);
  };

  return {
    event: async (event) => {
      await say(event);
      await act(event);
    },
    end: async (stopped) => {
      shown.clear();
      speaker = rootName;
      await screen.endLine();
      if (stopped) await screen.note('stopped');
    },
  };
}

/**
 * What a person is told of a failed run. Errors of Sluice speak for themselves; what code of the developer's own threw comes with its
 * stack, since that code is where to look.
 */
export function failureText(error: unknown): string {
  const isTheirs = error instanceof HookError || (error instanceof ModelError && error.code === 'MODEL_FAILED');
  if (isTheirs) return `${messageOf(error)}\n${stackOf(error.cause)}`;
  return error instanceof SluiceError ? messageOf(error) : stackOf(error);
}
