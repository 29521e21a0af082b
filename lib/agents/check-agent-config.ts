import {expectOption} from '../errors.ts';
import {checkValues, isObject, isString, optional} from '../schema/options.ts';
import {isCallbacks} from './callbacks.ts';

/** What every agent checks of its options. */
interface Checked {
  readonly name: string;
  readonly description?: unknown;
  readonly beforeAgentCallback?: unknown;
  readonly afterAgentCallback?: unknown;
}

/** @throws {@link InvalidOptionError} where a name, a description or a callback cannot be used */
export function checkAgentConfig(config: Checked): void {
  expectOption(isObject.accepts(config), 'agent', 'an object of options', config);
  const {name} = config;
  const isIdentifier = typeof name === 'string' && /^(?!user$)[A-Za-z_]\w*$/.test(name);
  expectOption(isIdentifier, 'agent.name', 'an identifier (letters, digits and _, no digit first) other than "user"', name);
  checkValues<Checked>(name, config, {description: optional(isString), beforeAgentCallback: isCallbacks, afterAgentCallback: isCallbacks});
}
