import type {GenerateContentParameters} from '@google/genai';

/** What a request begins with. */
export interface Prefix {
  /** Equal digests mean equal beginnings. */
  readonly digest: string;
  /** The size of its JSON, in characters. */
  readonly size: number;
}

/** What a request begins with, ever longer: the first is model, instruction and tools, each further one has one more content. */
export async function prefixesOf({model, contents, config = {}}: GenerateContentParameters): Promise<Prefix[]> {
  const {systemInstruction, tools, toolConfig} = config;
  const prefixes: Prefix[] = [];
  let last: Prefix = {digest: '', size: 0};
  for (const piece of [[model, systemInstruction ?? null, tools ?? null, toolConfig ?? null], ...(contents as unknown[])]) {
    const json = JSON.stringify(piece);
    last = {digest: await sha256(last.digest + json), size: last.size + json.length};
    prefixes.push(last);
  }
  return prefixes;
}

async function sha256(text: string): Promise<string> {
  const bytes = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text));
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('');
}
