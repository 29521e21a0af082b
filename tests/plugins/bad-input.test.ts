import {describe, expect, test} from 'vitest';
import {BasePlugin, InMemoryRunner, LlmAgent, type RunnerConfig} from 'sluice';
import {ContextFilterPlugin, GlobalInstructionPlugin, LoggingPlugin, ReflectAndRetryToolPlugin} from 'sluice/plugins';
import {ScriptedLlm} from 'sluice/testing';
import {pluginOf} from './kit.ts';

class Named extends BasePlugin {}

test.each([
  ['an empty name', ''],
  ['no name', undefined],
  ['a number', 7],
])('a plugin with %s cannot be made', (_, name) => {
  expect(() => new Named(name as string)).toThrow('Expected `plugin.name` to be a non-empty string, got ');
});

test.each([
  ['no array', pluginOf('a')],
  ['two of one name', [pluginOf('a'), pluginOf('b'), pluginOf('a')]],
  ['something without a name', [{}]],
  ['something without a name beside another', [pluginOf('a'), {}]],
  ['nothing in it', [undefined]],
  ['one plugin twice', Array.from({length: 2}).fill(pluginOf('a'))],
])('a runner refuses plugins that are %s', (_, plugins) => {
  const agent = new LlmAgent({name: 'root', model: new ScriptedLlm()});
  const make = () => new InMemoryRunner({agent, plugins: plugins as NonNullable<RunnerConfig['plugins']>});
  expect(make).toThrow('Expected `runner.plugins` to be an array of plugins of different names, got an ');
});

describe('what comes with Sluice refuses', () => {
  test.each([
    [
      'a log that is none',
      () => new LoggingPlugin('log', {log: 'stdout' as never}),
      'Expected `LoggingPlugin.log` to be a function, got "stdout"',
    ],
    ['an unknown option', () => new LoggingPlugin('log', {logger: () => {}} as never), 'did you mean `log`?'],
    ['a negative count', () => new ReflectAndRetryToolPlugin({maxRetries: -1}), 'a whole number of at least 0, got -1'],
    ['half a retry', () => new ReflectAndRetryToolPlugin({maxRetries: 0.5}), 'a whole number of at least 0, got 0.5'],
    ['no filter', () => new ContextFilterPlugin({}), 'given numInvocationsToKeep, customFilter, or both'],
    ['no options', () => new ContextFilterPlugin(undefined as never), 'Expected `ContextFilterPlugin` to be an object of options'],
    ['no invocation to keep', () => new ContextFilterPlugin({numInvocationsToKeep: 0}), 'a whole number of at least 1, got 0'],
    ['a filter that is none', () => new ContextFilterPlugin({customFilter: 5 as never}), 'to be a function, got 5'],
    [
      'an instruction that is none',
      () => new GlobalInstructionPlugin({} as never),
      'Expected `globalInstruction` to be a string or a function',
    ],
    ['an empty name', () => new GlobalInstructionPlugin('Be brief.', ''), 'Expected `plugin.name` to be a non-empty string'],
  ])('%s', (_, make, expected) => {
    expect(make).toThrow(expected);
  });
});
