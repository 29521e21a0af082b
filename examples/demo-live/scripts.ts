import type {FunctionCall} from 'sluice';
import type {LiveScript, LiveServerSession} from 'sluice/testing';
import {pieces} from '../demo/pieces.ts';
import {spokenSound} from './sound.ts';

/** What the user says in each section. */
export const said = {
  two: 'Is there a table at Luna for eight tonight, and will it stay dry until then?',
  taxi: 'Order us a taxi for half past seven.',
  changed: 'Wait, make that eight!',
  three: 'A table at Luna for eight, a taxi, and how is the weather?',
  noTaxi: 'No taxi, we walk.',
  kitchen: 'When does the kitchen at Luna close?',
  bar: 'And the bar, how late is that open?',
  walk: 'What can we see in the old town tonight, and how is the weather?',
} as const;

const table: FunctionCall = {name: 'find_table', args: {restaurant: 'Luna', time: '20:00'}};
const taxi: FunctionCall = {name: 'order_taxi', args: {destination: 'Luna', time: '19:30'}};
const weather: FunctionCall = {name: 'get_weather', args: {time: '20:00'}};

/** Two calls in one message, one message that answers them, and a reply. */
export const twoCalls: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.two);
  session.toolCall([table, weather]);
  await session.next('toolResponse');
  await talk(session, 'Luna has table seven for you at eight, and the night stays clear.');
};

/** Much sound at once and a call; then the user speaks over it. */
export const interrupted: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.taxi);
  // As a model does: far faster than it can be played.
  const text =
    'One moment, I am calling a car. Luna is the small house behind the theatre, with a courtyard and four tables under a fig tree, ' +
    'and the cook comes from the coast: whatever the boats have brought is what there is to eat.';
  for (const piece of pieces(text)) utter(session, piece);
  session.toolCall([taxi]);
  await listen(session, said.changed, () => {
    session.interrupt();
    session.completeTurn();
  });
  await talk(session, 'Eight it is.');
};

/** Three calls, one of which is taken back when the user says so. */
export const cancelled: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.three);
  const [, {id = ''} = {}] = session.toolCall([table, taxi, weather]);
  await listen(session, said.noTaxi);
  session.cancelToolCalls([id]);
  await session.next('toolResponse');
  await talk(session, 'Table seven at eight, and a clear night for a walk.');
};

/** The handle with which the conversation goes on. */
const HANDLE = 'resume-where-we-were';

/** A server that goes away while it speaks, and the one that takes over. */
export const goingAway: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.kitchen);
  await talk(session, 'The kitchen at Luna closes at eleven, on Sundays at ten.', {
    onPiece: (at) => {
      if (at === 1) session.goAway('3s');
    },
    onGenerated: () => session.offerResumption(HANDLE),
  });
};
export const takingOver: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.bar);
  await talk(session, 'The bar stays open until two.');
};

/** A long speech, for a reader who leaves in the middle. */
export const longSpeech: LiveScript = async (session) => {
  await session.acknowledge();
  await listen(session, said.walk);
  session.toolCall([weather]);
  await session.next('toolResponse');
  const text =
    'It stays clear, so take the long way. Start at the fish market, go up the steps of the ropemakers to the cathedral, and see the ' +
    'sun go down behind the two bridges. Below the walls the lanes are lit with lanterns; the bookbinders work late, and let you watch.';
  await talk(session, text);
};

/** Hears a speech: each piece of sound is written down as a piece of the text. */
async function listen(session: LiveServerSession, text: string, onFirst?: () => void): Promise<void> {
  for (const [at, piece] of pieces(text).entries()) {
    await session.next('realtimeInput');
    if (at === 0) onFirst?.();
    session.transcribeInput(piece);
  }
  // The microphone is turned off.
  await session.next('realtimeInput');
}

interface TalkHooks {
  /** Called behind each piece, with its number. */
  readonly onPiece?: (at: number) => void;
  readonly onGenerated?: () => void;
}

/** Speaks a whole turn. */
async function talk(session: LiveServerSession, text: string, {onPiece, onGenerated}: TalkHooks = {}): Promise<void> {
  for (const [at, piece] of pieces(text).entries()) {
    await session.delay(20);
    utter(session, piece);
    onPiece?.(at);
  }
  session.completeGeneration();
  onGenerated?.();
  session.completeTurn({promptTokenCount: 120, responseTokenCount: text.length, totalTokenCount: 120 + text.length});
}

function utter(session: LiveServerSession, piece: string): void {
  session.audio(spokenSound);
  session.transcribeOutput(piece);
}
