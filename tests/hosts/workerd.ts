import {build} from 'esbuild';
import {Miniflare} from 'miniflare';
import {join} from 'node:path';

export interface WorkerdOptions {
  /** None where they are missing. */
  readonly compatibilityFlags?: string[];
  readonly bindings?: Record<string, string | number>;
  /** Classes of the program by the names of their bindings. */
  readonly durableObjects?: Record<string, string>;
}

/** Cloudflare's runtime with one worker, on a port of its own. */
export class Workerd implements AsyncDisposable {
  readonly #miniflare: Miniflare;
  readonly url: string;

  private constructor(miniflare: Miniflare, url: string) {
    this.#miniflare = miniflare;
    this.url = url;
  }

  /** @param program - bundled into one module, as `wrangler` does it */
  static async start(
    folder: string,
    program: string,
    {compatibilityFlags = [], bindings = {}, durableObjects = {}}: WorkerdOptions = {},
  ): Promise<Workerd> {
    const contents = await bundle(join(folder, program));
    const miniflare = new Miniflare({
      modules: [{type: 'ESModule', path: 'worker.mjs', contents}],
      compatibilityDate: '2026-07-30',
      compatibilityFlags,
      bindings,
      durableObjects,
      host: '127.0.0.1',
      port: 0,
    });
    return new Workerd(miniflare, (await miniflare.ready).origin);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#miniflare.dispose();
  }
}

// What Gemini loads only for Vertex AI's login and for live runs stays outside, and is never loaded here.
const UNUSED = /^(?:@google\/genai|google-auth-library|ws)$/;

async function bundle(file: string): Promise<string> {
  const {outputFiles} = await build({
    entryPoints: [file],
    bundle: true,
    format: 'esm',
    platform: 'neutral',
    mainFields: ['module', 'main'],
    conditions: ['workerd', 'worker', 'browser'],
    tsconfigRaw: {},
    write: false,
    plugins: [{name: 'unused', setup: (it) => it.onResolve({filter: UNUSED}, ({path}) => ({path, external: true}))}],
  });
  return outputFiles[0]?.text ?? '';
}
