import {setTimeout as pause} from 'node:timers/promises';
import type {Event, LiveRequestQueue} from 'sluice';
import {pieces} from '../demo/pieces.ts';

/** How long a piece of sound is, in milliseconds. */
const PIECE_MS = 40;

const HEARD_RATE = 16_000;
const SPOKEN_RATE = 24_000;
const BYTES_PER_SAMPLE = 2;

/** A piece of sound as the model sends it, in base64. It is silence: nobody listens. */
export const spokenSound: string = silence(SPOKEN_RATE);

/** Speaks as a microphone does: a piece of sound every 40 ms, as many as the text has pieces, and then it is turned off. */
export async function speak(queue: LiveRequestQueue, text: string): Promise<void> {
  for (const _ of pieces(text)) {
    // The run may have ended meanwhile, and closed its queue.
    if (queue.closed) return;
    await queue.sendRealtime({mimeType: `audio/pcm;rate=${HEARD_RATE}`, data: silence(HEARD_RATE)});
    await pause(PIECE_MS);
  }
  if (!queue.closed) await queue.sendRealtime({audioStreamEnd: true});
}

/** How much sound a speech is. */
export function describeSpeech(text: string): string {
  const count = pieces(text).length;
  return `${count} pieces of sound, ${describeSound(count * bytesOf(silence(HEARD_RATE)), HEARD_RATE)}`;
}

/** Bytes of sound, and how long they are. */
export function describeSound(bytes: number, rate: number = SPOKEN_RATE): string {
  return `${bytes.toLocaleString('en-US')} bytes, ${Math.round(durationOf(bytes, rate))} ms`;
}

/** How many bytes of sound an Event brings. */
export function soundIn({content}: Event): number {
  const sounds = content?.parts?.filter(({inlineData}) => inlineData?.mimeType?.startsWith('audio/')) ?? [];
  return sounds.reduce((bytes, {inlineData}) => bytes + bytesOf(inlineData?.data ?? ''), 0);
}

/** How long so many bytes of sound are, in milliseconds; by default of the model's. */
export function durationOf(bytes: number, rate: number = SPOKEN_RATE): number {
  return (bytes / BYTES_PER_SAMPLE / rate) * 1000;
}

/** How many bytes base64 stands for. */
export function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, 'base64');
}

function silence(rate: number): string {
  return Buffer.alloc((rate * BYTES_PER_SAMPLE * PIECE_MS) / 1000).toString('base64');
}
