import type {LlmResponse} from '../models/llm-response.ts';

/** Those of these fields that a response has. */
export function givenFields<K extends keyof LlmResponse>(response: LlmResponse, keys: readonly K[]): Pick<LlmResponse, K> {
  return Object.fromEntries(keys.flatMap((key) => (response[key] === undefined ? [] : [[key, response[key]]]))) as Pick<LlmResponse, K>;
}
