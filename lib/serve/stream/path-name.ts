import type {Check} from '../../schema/options.ts';

const MAX_LENGTH = 1_024;
// oxlint-disable-next-line no-control-regex -- they are what is refused
const CONTROL = /[\u0000-\u001f\u007f]/;

/** The name of an app, a user, a session or an artifact that routes can have in their path: a URL takes `.` and `..` for steps. */
export const isPathName: Check = {
  expected: `a string of 1 to ${MAX_LENGTH} characters without control characters, and not "." or ".."`,
  accepts: (value) =>
    typeof value === 'string' &&
    value !== '' &&
    value.length <= MAX_LENGTH &&
    value.isWellFormed() &&
    !CONTROL.test(value) &&
    value !== '.' &&
    value !== '..',
};
