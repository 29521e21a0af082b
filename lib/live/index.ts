/**
 * The live loop of `LlmAgent`. It is an entry of its own so that only live runs load it; `runner.runLive` does that by itself.
 *
 * @module
 */
export {liveEvents} from './live-events.ts';
export {runLive} from './live-flow.ts';
