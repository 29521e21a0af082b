import {expectOption} from '../errors.ts';
import {checkValues, isObject, isString, optional} from '../schema/options.ts';

/** @throws {@link InvalidOptionError} where a name or a description cannot be used */
export function checkAgentConfig(config: {readonly name: string; readonly description?: string | undefined}): void {
  expectOption(isObject.accepts(config), 'agent', 'an object of options', config);
  const {name} = config;
  const isIdentifier = typeof name === 'string' && /^(?!user$)[A-Za-z_]\w*$/.test(name);
  expectOption(isIdentifier, 'agent.name', 'an identifier (letters, digits and _, no digit first) other than "user"', name);
  checkValues<{readonly description?: string | undefined}>(name, config, {description: optional(isString)});
}
