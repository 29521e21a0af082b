// Makes `sluice/live` and its like the sources, as vitest's configuration does: a program of the tests runs without a build.
import {registerHooks} from 'node:module';

registerHooks({
  resolve: (specifier, context, next) => {
    const [, entry] = /^sluice(?:\/(.+))?$/.exec(specifier) ?? [];
    const isOurs = specifier === 'sluice' || entry !== undefined;
    if (!isOurs) return next(specifier, context);
    return next(new URL(`../../../lib/${entry === undefined ? '' : `${entry}/`}index.ts`, import.meta.url).href, context);
  },
});
