/**
 * Reads a message that answers calls which wait. An entry of its own so that only runs with such a message load it; a Runner does that by
 * itself.
 *
 * @module
 */
export {answersOf, type Answers} from './answers.ts';
