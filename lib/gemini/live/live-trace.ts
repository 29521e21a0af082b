import {escapeKey} from './live-endpoint.ts';
import type {LiveFrame} from './live-frame.ts';

/** Takes secrets out of a text. */
export type Redact = (text: string) => string;

/** Makes a function that replaces every one of these secrets, also where it is escaped for a URL or for JSON. */
export function redactor(secrets: readonly string[]): Redact {
  const forms = secrets.flatMap((secret) => [secret, escapeKey(secret), encodeURIComponent(secret), JSON.stringify(secret).slice(1, -1)]);
  // The longest first: one secret may be a part of another.
  const sorted = [...new Set(forms)].filter((form) => form !== '').toSorted((a, b) => b.length - a.length);
  return (text) => sorted.reduce((rest, form) => rest.replaceAll(form, 'REDACTED'), text);
}

/** Tells the hook of one connection's frames. A hook that throws or rejects disturbs nothing. */
export class LiveTrace {
  readonly #hook: ((frame: LiveFrame) => void) | undefined;
  readonly #connection: number;
  readonly #redact: Redact;

  constructor(hook: ((frame: LiveFrame) => void) | undefined, connection: number, redact: Redact) {
    this.#hook = hook;
    this.#connection = connection;
    this.#redact = redact;
  }

  emit(direction: LiveFrame['direction'], data: string): void {
    if (this.#hook === undefined) return;
    try {
      const frame = {direction, data: this.#redact(data), connection: this.#connection, timestamp: Date.now()};
      // An async function is a hook, too.
      const result: unknown = this.#hook(frame);
      if (result instanceof Promise) result.catch(() => {});
    } catch {
      // The connection goes on.
    }
  }
}
