import {answer, calls, chunks, type GeminiReplySource} from 'sluice/testing';
import {pieces} from './pieces.ts';

export const question =
  'How is the weather in Beijing, which hotels are there in Shanghai, and when are flights from the one to the other?';

/** What the loopback server says to the question: three calls, each in an SSE event of its own as Gemini 3 sends them, then a text. */
export function travelReplies(): GeminiReplySource[] {
  const three = calls(
    [
      {name: 'get_weather', args: {city: 'Beijing'}},
      {name: 'search_hotels', args: {city: 'Shanghai'}},
      {name: 'search_flights', args: {from: 'Beijing', to: 'Shanghai'}},
    ],
    {thoughts: 'Three look-ups that do not need each other: ask for all at once.', headersDelayMs: 20, chunkDelayMs: 15},
  );
  const text =
    'Beijing is clear at 21 °C. In Shanghai there are the Riverside and the Old Town Inn. Flights leave Beijing at 09:05 and 13:40.';
  return [three, chunks(pieces(text), {headersDelayMs: 20, chunkDelayMs: 20})];
}

/** A long text, for a reader who leaves in the middle. */
export function longReply(): GeminiReplySource {
  const text =
    'Shanghai lies where the Huangpu meets the Yangtze. Walk the Bund at dusk, when the towers across the river light up one after the ' +
    'other. Take a morning for the lanes of the old town and the Yu Garden, an afternoon for the plane trees of the former French ' +
    'Concession, and an evening for soup dumplings anywhere with a queue.';
  return chunks(pieces(text), {headersDelayMs: 20, chunkDelayMs: 20});
}

/** What it says when the conversation goes on. */
export function shortReply(): GeminiReplySource {
  return answer('The Riverside, then: it is the closer one.');
}
