import type {GoogleAuth} from 'google-auth-library';

import {InvalidOptionError, ModelError} from '../../errors.ts';
import type {GeminiTarget} from '../gemini-target.ts';

const scope = 'https://www.googleapis.com/auth/cloud-platform';

/**
 * The headers of a handshake. google-auth-library is loaded where a Google Cloud project asks for it, and keeps its token for the next
 * connection.
 */
export class LiveLogin {
  #auth: Promise<GoogleAuth> | undefined;

  /** @param url - what the login is for; a login by key needs no more than the key */
  async headers(target: GeminiTarget, url: URL): Promise<Headers> {
    const headers = new Headers();
    addMissing(headers, Object.entries(target.httpOptions.headers ?? {}));
    // The Gemini API has its key in the URL.
    if (!target.vertexai) return headers;
    if (target.apiKey !== undefined) addMissing(headers, [['x-goog-api-key', target.apiKey]]);
    else if (target.project !== undefined && !headers.has('authorization')) addMissing(headers, await this.#googleHeaders(target, url));
    return headers;
  }

  async #googleHeaders(target: GeminiTarget, url: URL): Promise<Headers> {
    this.#auth ??= loadGoogleAuth(target);
    const auth = await this.#auth.catch((error: unknown) => {
      // The next connection tries again.
      this.#auth = undefined;
      throw error;
    });
    return auth.getRequestHeaders(url.href);
  }
}

async function loadGoogleAuth({googleAuthOptions}: GeminiTarget): Promise<GoogleAuth> {
  const scopes = googleAuthOptions?.scopes ?? [scope];
  if (![scopes].flat().includes(scope)) throw new InvalidOptionError('googleAuthOptions.scopes', `scopes with ${scope} among them`, scopes);
  const {GoogleAuth} = await import('google-auth-library');
  return new GoogleAuth({...googleAuthOptions, scopes});
}

/** What the caller has set himself stays. */
function addMissing(headers: Headers, added: Iterable<readonly [string, string]>): void {
  for (const [name, value] of added) {
    try {
      if (!headers.has(name)) headers.set(name, value);
    } catch {
      // Without the cause: its words hold the value, which may be a key.
      const message = `Expected the header ${JSON.stringify(name)} to be one that HTTP can send, got other characters`;
      throw new ModelError(message, {code: 'REQUEST_FAILED'});
    }
  }
}
