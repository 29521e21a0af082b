import {readFileSync} from 'node:fs';

/** The version of the package that this command comes with. */
export function version(): string {
  // As far below package.json in the sources as in what is built.
  const {version} = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8')) as {version: string};
  return version;
}
