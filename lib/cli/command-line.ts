import {parseArgs} from 'node:util';
import {UsageError} from './cli-error.ts';
import {nearest} from '../schema/options.ts';

/** One option of a command: with a value, or without. */
export type Option = ValueOption | SwitchOption;

interface AnyOption {
  readonly short?: string;
  /** One or more lines of the help. */
  readonly about: string;
}

interface ValueOption extends AnyOption {
  readonly type: 'string';
  /** What its value is called in the help. */
  readonly value: string;
}

interface SwitchOption extends AnyOption {
  readonly type: 'boolean';
}

/** The options of a command, by name, from what they are read as: a text, or `true`. */
export type OptionsFor<V extends object> = {readonly [K in keyof V]-?: NonNullable<V[K]> extends string ? ValueOption : SwitchOption};

type Options = Readonly<Record<string, Option>>;

/** The arguments of a command, read. */
export interface Arguments<V extends object> {
  readonly values: V;
  readonly positionals: readonly string[];
}

/**
 * Reads the arguments of a command. The last of an option that is given twice counts; what follows `--` is no option.
 *
 * @throws {@link UsageError} for an unknown option, a value that is missing, or one too many
 */
export function parseArguments<V extends object>(
  command: string | undefined,
  args: readonly string[],
  optionsFor: OptionsFor<V>,
): Arguments<V> {
  const options: Options = optionsFor;
  const config = Object.fromEntries(Object.entries(options).map(([name, {type, short}]) => [name, {type, ...(short && {short})}]));
  // Not strict: its own messages speak of parseArgs and know no near name.
  const {tokens, positionals} = parseArgs({args: [...args], options: config, strict: false, tokens: true});
  const values: Record<string, string | true> = {};
  let switchName = '';
  for (const token of tokens) {
    if (token.kind !== 'option') continue;
    const {name, rawName, index} = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    // The `=` of `-i=yes` is taken for one more switch.
    const [, value] = (rawName === '-=' && /^-[^=]+=(.*)/s.exec(args[index] ?? '')) || [];
    if (value !== undefined) throw new UsageError(`${switchName} takes no value, got ${value}`, command);
    if (!option) throw new UsageError(unknown('option', rawName, longNames(options)), command);
    if (option.type === 'string') {
      values[name] = textOf(token, option, {options, command});
      continue;
    }
    if (token.value !== undefined) throw new UsageError(`${rawName} takes no value, got ${token.value}`, command);
    values[name] = true;
    switchName = rawName;
  }
  return {values: values as V, positionals};
}

interface GivenOption {
  readonly rawName: string;
  readonly value?: string | undefined;
  readonly inlineValue?: boolean | undefined;
}

function textOf(
  {rawName, value: given, inlineValue}: GivenOption,
  option: ValueOption,
  {options, command}: {readonly options: Options; readonly command: string | undefined},
): string {
  // `-m=hi` says what `--message=hi` does, though to `parseArgs` the sign is part of the value.
  const value = inlineValue && !rawName.startsWith('--') ? given?.replace(/^=/, '') : given;
  if (value === undefined || value === '') throw new UsageError(`${rawName} needs a value: ${rawName} ${option.value}`, command);
  // A text may begin with a dash, but not be taken for an option that was meant as one.
  if (!inlineValue && isOption(value, options)) {
    throw new UsageError(`${rawName} needs a value, got the option ${value} (a value that looks like one: ${rawName}=${value})`, command);
  }
  return value;
}

/** Says that there is no such thing, and which was most likely meant. */
export function unknown(kind: string, name: string, known: readonly string[]): string {
  const near = nearest(name, known);
  return `Unknown ${kind} ${name}${near === undefined ? '' : `: did you mean ${near}?`}`;
}

function longNames(options: Options): string[] {
  return Object.keys(options).map((name) => `--${name}`);
}

function isOption(text: string, options: Options): boolean {
  const short = Object.values(options).flatMap((option) => (option.short ? [`-${option.short}`] : []));
  return longNames(options).includes(text) || short.includes(text);
}
