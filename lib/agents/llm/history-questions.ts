import {requestedCallId} from '../../context/requests.ts';
import type {Event} from '../../events/event.ts';
import type {HistoryLayout} from './history-layout.ts';
import type {HistoryCall} from './history-turn.ts';

/**
 * What calls have asked the user of the app. A call whose questions are all answered has run, as its next response tells, or was cut off
 * before it could: then it waits no more.
 */
export class HistoryQuestions {
  readonly #askers = new Map<string, HistoryCall>();

  /** Reads the questions and answers of an Event. A call whose last question it answers has no response now, and its turn has changed. */
  read({content}: Event, calls: ReadonlyMap<string, HistoryCall | string>, layout: HistoryLayout): void {
    for (const {functionCall, functionResponse} of content?.parts ?? []) {
      const asker = functionCall && calls.get(requestedCallId(functionCall) ?? '');
      if (typeof asker === 'object' && functionCall?.id) {
        asker.questions = (asker.questions ?? 0) + 1;
        this.#askers.set(functionCall.id, asker);
      }
      const answered = this.#askers.get(functionResponse?.id ?? '');
      if (!answered?.questions) continue;
      // A refusal is the answer to all of them.
      answered.questions = functionResponse?.response?.['confirmed'] === false ? 0 : answered.questions - 1;
      if (answered.questions > 0) continue;
      delete answered.response;
      layout.change(answered.turn);
    }
  }
}
