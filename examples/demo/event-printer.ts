import {getFunctionCalls, getFunctionResponses, stringifyContent, type Event, type FunctionCall, type FunctionResponse} from 'sluice';
import {columns, EventRows} from './event-rows.ts';
import {brief, fit} from './screen.ts';

/** Prints the Events of a run as they come; the text of partial Events grows on one line. */
export class EventPrinter {
  readonly #rows = new EventRows();

  user(text: string): void {
    this.#rows.row({author: 'you', mark: '●', kind: 'message'}, text);
  }

  event(event: Event): void {
    if (event.partial) this.#partial(event);
    else this.#whole(event);
  }

  #partial(event: Event): void {
    const {author} = event;
    for (const call of getFunctionCalls(event)) this.#rows.row({author, mark: '·', kind: 'partial'}, callText(call), 'dim');
    const thought = event.content?.parts?.find((part) => part.thought)?.text;
    if (thought) this.#rows.row({author, mark: '·', kind: 'thought'}, fit(thought, columns), 'dim');
    const text = stringifyContent(event);
    if (text) this.#rows.grow({author, mark: '·', kind: 'partials'}, text);
  }

  #whole(event: Event): void {
    const head = {author: event.author, mark: '●', kind: 'event'} as const;
    const calls = getFunctionCalls(event);
    const text = stringifyContent(event);
    if (calls.length > 0) this.#rows.row(head, `calls ${calls.map(({name}) => name).join(', ')}`);
    for (const [at, response] of getFunctionResponses(event).entries()) {
      if (at === 0) this.#rows.row(head, responseText(response));
      else this.#rows.more(responseText(response));
    }
    if (text) {
      const tokens = event.usageMetadata?.totalTokenCount;
      this.#rows.row(head, `the whole text, ${text.length} characters${tokens === undefined ? '' : `, ${tokens} tokens`}`);
    }
    if (event.errorCode) this.#rows.row(head, `${event.errorCode}: ${event.errorMessage ?? ''}`);
  }

  /** Ends the line that grows. */
  end(): void {
    this.#rows.end();
  }

  /** Ends it with a mark: nothing more comes. */
  cut(how: string): void {
    this.#rows.cut(how);
  }
}

/** A call on one line. */
export function callText({name, args}: FunctionCall): string {
  return fit(`→ ${name} ${brief(args)}`, columns);
}

/** A response on one line. */
export function responseText({name, response}: FunctionResponse): string {
  return fit(`← ${name} ${brief(response)}`, columns);
}
