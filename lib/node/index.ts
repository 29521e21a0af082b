/** Serves a handler on Node: on a server of its own, or on one that is there already. */
export {listen, type Listener} from './listen.ts';
export type {CloseOptions, ListenOptions} from './listen-options.ts';
export {toNodeHandler, type FetchHandler, type NodeHandler, type NodeHandlerOptions} from './node-handler.ts';
export {toNodeUpgradeHandler, type NodeUpgradeHandler} from './node-upgrade-handler.ts';
