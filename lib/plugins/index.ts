/**
 * Calls the plugins of a runner, whose runs load it by themselves, and holds the plugins that come with Sluice.
 *
 * @module
 */
export {PluginChain} from './plugin-chain.ts';
