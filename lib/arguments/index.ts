/**
 * Checks the arguments of calls by a schema that brings no validator, and words for the model what is wrong with them. An entry of its own:
 * the first call that needs it loads it by itself.
 *
 * @module
 */
export {checkArguments} from './check-arguments.ts';
export {invalidArguments} from './invalid-arguments.ts';
