import {stringifyContent, type Event} from 'sluice';

/** What a client of any of the hosts does. */
export class Client {
  readonly #url: string;

  constructor(url: string) {
    this.#url = url.replace(/\/$/, '');
  }

  get url(): string {
    return this.#url;
  }

  /** Starts a run on a session. */
  run(path: 'run' | 'run_sse', sessionId: string, signal?: AbortSignal): Promise<Response> {
    const body = {appName: 'app', userId: 'u', sessionId, newMessage: {role: 'user', parts: [{text: 'Go.'}]}};
    const headers = {'content-type': 'application/json', accept: 'application/x-ndjson'};
    return fetch(`${this.#url}/${path}`, {method: 'POST', headers, body: JSON.stringify(body), ...(signal && {signal})});
  }

  /** What is stored of a session. */
  async stored(sessionId: string): Promise<(string | boolean | undefined)[][]> {
    const response = await fetch(`${this.#url}/apps/app/users/u/sessions/${sessionId}`);
    const {events} = (await response.json()) as {events: Event[]};
    return events.map((event) => [event.author, stringifyContent(event), event.customMetadata?.['stopped'] as boolean | undefined]);
  }
}

/** The Events of a stream of newline JSON, one by one. Leaving it leaves the server. */
export async function* eventsOf(response: Response): AsyncGenerator<Event, void> {
  let rest = '';
  for await (const text of response.body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const lines = (rest + text).split('\n');
    rest = lines.pop() ?? '';
    for (const line of lines) if (line !== '') yield JSON.parse(line) as Event;
  }
}
