import {expectOption} from '../errors.ts';
import {isName, isObject} from '../schema/options.ts';

/** @throws {@link InvalidOptionError} where a name or a description cannot be used */
export function checkAgentConfig(config: {readonly name: string; readonly description?: string | undefined}): void {
  expectOption(isObject.accepts(config), 'agent', 'an object of options', config);
  const {name, description} = config;
  const isIdentifier = isName.accepts(name) && /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && name !== 'user';
  expectOption(isIdentifier, 'agent.name', 'an identifier (letters, digits and _, no digit first) other than "user"', name);
  expectOption(description === undefined || typeof description === 'string', `${name}.description`, 'a string', description);
}
