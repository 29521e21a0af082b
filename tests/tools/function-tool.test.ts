import {Type} from '@google/genai';
import {toStandardJsonSchema} from '@valibot/to-json-schema';
import {type} from 'arktype';
import * as v from 'valibot';
import {describe, expect, test, vi} from 'vitest';
import {z} from 'zod';
import {InvalidOptionError} from '../../lib/errors.ts';
import {BaseTool} from '../../lib/tools/base-tool.ts';
import {FunctionTool} from '../../lib/tools/function-tool.ts';
import {LongRunningFunctionTool} from '../../lib/tools/long-running-function-tool.ts';
import {Lifetime} from '../../lib/async/lifetime.ts';
import {functionCalls} from '../../lib/testing/index.ts';
import {lines, stage} from '../stories/kit.ts';
import {toolContext} from './tool-context.ts';

const CITY = {type: 'object', properties: {city: {type: 'string'}}, required: ['city']};
const OPTIONS = {name: 'get_weather', description: 'Current weather for a city.', execute: (): string => 'sunny'};

function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (thrown) {
    if (thrown instanceof InvalidOptionError) return thrown.message;
  }
  throw new Error('Nothing was refused');
}

describe('a declaration', () => {
  test.each([
    ['zod', z.object({city: z.string()})],
    ['arktype', type({city: 'string'})],
    ['valibot', toStandardJsonSchema(v.object({city: v.string()}))],
    ['JSON Schema', CITY],
  ])('of %s says the parameters as JSON Schema', (_name, parameters) => {
    const tool = new FunctionTool({...OPTIONS, parameters});
    expect(tool._getDeclaration()).toEqual({name: 'get_weather', description: 'Current weather for a city.', parametersJsonSchema: CITY});
  });

  test('of a genai Schema passes it on', () => {
    const parameters = {type: Type.OBJECT, properties: {city: {type: Type.STRING}}, required: ['city']};
    const tool = new FunctionTool({...OPTIONS, parameters});
    expect(tool._getDeclaration()).toEqual({name: 'get_weather', description: 'Current weather for a city.', parameters});
  });

  test('of a tool that takes nothing has no parameters', () => {
    const declaration = {name: 'get_weather', description: 'Current weather for a city.'};
    expect(new FunctionTool(OPTIONS)._getDeclaration()).toEqual(declaration);
    expect(new FunctionTool({...OPTIONS, parameters: undefined})._getDeclaration()).toEqual(declaration);
  });

  test('is made once, and frozen', () => {
    const input = vi.fn<(options: {readonly target: string}) => typeof CITY>(() => CITY);
    const validate = (value: unknown): {value: object} => ({value: value as object});
    const parameters = {'~standard': {version: 1, vendor: 'home', validate, jsonSchema: {input, output: input}}} as const;
    const tool = new FunctionTool({...OPTIONS, parameters});
    const declaration = tool._getDeclaration();
    expect(tool._getDeclaration()).toBe(declaration);
    expect(Object.isFrozen(declaration) && Object.isFrozen(declaration.parametersJsonSchema)).toBe(true);
    expect(input.mock.calls).toEqual([[{target: 'draft-2020-12'}]]);
  });
});

describe('a name', () => {
  test('is by default that of the function', () => {
    function getWeather(): string {
      return 'sunny';
    }
    expect(new FunctionTool({description: 'd', execute: getWeather}).name).toBe('getWeather');
  });

  test('is required where the function has none of its own', () => {
    const message = 'Expected `tool.name` to be a name, as `execute` has none of its own, got undefined';
    expect(messageOf(() => new FunctionTool({description: 'd', execute: () => 1}))).toBe(message);
    expect(
      messageOf(
        () =>
          new FunctionTool({
            description: 'd',
            execute() {
              return 1;
            },
          }),
      ),
    ).toBe(message);
    expect(
      messageOf(
        () =>
          new FunctionTool({
            description: 'd',
            execute: (
              () => () =>
                1
            )(),
          }),
      ),
    ).toBe(message);
    expect(new FunctionTool({name: 'execute', description: 'd', execute: () => 1}).name).toBe('execute');
  });
});

describe('bad options', () => {
  test.each<[string, object, string]>([
    ['no description', {description: undefined}, 'Expected `get_weather.description` to be a string, got undefined'],
    ['no body', {execute: undefined}, 'Expected `get_weather.execute` to be a function, got undefined'],
    [
      'a name that is none',
      {name: 'get weather'},
      'Expected `tool.name` to be a letter or "_" and then at most 127 of A-Z a-z 0-9 _ . : -, got "get weather" (string)',
    ],
    ['a name of another type', {name: 5}, 'Expected `tool.name` to be a string, got 5 (number)'],
    ['no time', {timeoutMs: 0}, 'Expected `get_weather.timeoutMs` to be a number of milliseconds above 0, or Infinity, got 0 (number)'],
    ['a flag of another type', {exclusive: 'yes'}, 'Expected `get_weather.exclusive` to be a boolean, got "yes" (string)'],
    [
      'an unknown option',
      {timeout: 5},
      'Expected `get_weather.timeout` to be absent, as there is no such option (did you mean `timeoutMs`? known: name,',
    ],
    [
      'a schema of no object',
      {parameters: z.string()},
      'Expected `get_weather.parameters` to be a schema of one object, whose properties are the arguments, got "string" (string)',
    ],
    ['a schema without a JSON form', {parameters: v.object({})}, 'Expected `get_weather.parameters` to be a schema with a JSON form'],
  ])('%s', (_name, change, message) => {
    expect(messageOf(() => new FunctionTool({...OPTIONS, ...change}))).toContain(message);
  });

  test.each([[undefined], [null], [() => 1]])('%o in their place', (options) => {
    expect(messageOf(() => new FunctionTool(options as never))).toContain('Expected `tool` to be an object of options');
  });

  test('an option that is undefined counts as absent', () => {
    const tool = new FunctionTool({...OPTIONS, timeoutMs: undefined, exclusive: undefined, isLongRunning: undefined});
    expect([tool.timeoutMs, tool.exclusive, tool.isLongRunning]).toEqual([120_000, false, false]);
    const other = new FunctionTool({...OPTIONS, timeoutMs: Infinity, exclusive: true});
    expect([other.timeoutMs, other.exclusive]).toEqual([Infinity, true]);
  });
});

describe('a call', () => {
  test('gives the body its arguments and its context', async () => {
    const life = new Lifetime();
    const seen: unknown[] = [];
    const tool = new FunctionTool({
      ...OPTIONS,
      parameters: z.object({city: z.string().toUpperCase(), days: z.number().default(1)}),
      execute: ({city, days}, {abortSignal, functionCallId, state}) => {
        seen.push(city, days, abortSignal === life.signal, functionCallId, state.get('unit'));
        return {city, days};
      },
    });
    const args = await tool.validateArgs({city: 'Oslo'});
    expect(await tool.runAsync({args, toolContext: toolContext(life)})).toEqual({city: 'OSLO', days: 1});
    expect(seen).toEqual(['OSLO', 1, true, 'call-1', 'C']);
  });

  test('checks nothing twice, as hooks may have changed the arguments', async () => {
    const parameters = z.object({at: z.string().transform((text) => text.length)});
    const tool = new FunctionTool({...OPTIONS, parameters, execute: ({at}) => at + 1});
    expect(await tool.runAsync({args: {at: 5}, toolContext: toolContext()})).toBe(6);
  });

  test('rejects with what the body throws, also when it is not asynchronous', async () => {
    const thrown = {code: 42};
    const tool = new FunctionTool({
      ...OPTIONS,
      execute: () => {
        throw thrown;
      },
    });
    await expect(tool.runAsync({args: {}, toolContext: toolContext()})).rejects.toBe(thrown);
  });

  test('of a generator gives the generator, for the run to show its progress', async () => {
    const tool = new FunctionTool({
      ...OPTIONS,
      parameters: CITY,
      async *execute({city}) {
        yield {asking: city};
        return {city, weather: 'sunny'};
      },
    });
    const body = (await tool.runAsync({args: {city: 'Oslo'}, toolContext: toolContext()})) as AsyncGenerator;
    expect([await body.next(), await body.next()]).toEqual([
      {done: false, value: {asking: 'Oslo'}},
      {done: true, value: {city: 'Oslo', weather: 'sunny'}},
    ]);
  });

  test('with bad arguments does not reach the body', async () => {
    const execute = vi.fn<() => void>();
    const tool = new FunctionTool({...OPTIONS, parameters: z.object({city: z.string()}), execute});
    for (const args of ['{bad', [], 'x', null, undefined, '', {}, {city: 5}]) {
      await expect(async () => tool.validateArgs(args)).rejects.toThrow(/^Invalid arguments: .*Expected: \{city: string\}$/);
    }
    expect(execute).not.toHaveBeenCalled();
  });

  test.each([[''], [undefined], [null], [{}]])('without parameters takes %o as no arguments', (args) => {
    expect(new FunctionTool(OPTIONS).validateArgs(args)).toEqual({});
    expect(new FunctionTool({...OPTIONS, parameters: z.object({})}).validateArgs(args)).toEqual({});
  });
});

describe('a long-running tool', () => {
  test('says so to the model, and to the run', () => {
    const parameters = z.object({city: z.string()});
    const tool = new LongRunningFunctionTool({...OPTIONS, parameters});
    const description =
      'Current weather for a city.\n\nIts first answer is provisional; the final one comes later. Until then, do not call it again for ' +
      'the same task.';
    expect(tool._getDeclaration()).toEqual({name: 'get_weather', description, parametersJsonSchema: CITY});
    expect(tool).toMatchObject({isLongRunning: true, description: 'Current weather for a city.'});
    expect(tool).toBeInstanceOf(FunctionTool);
    expect(new FunctionTool({...OPTIONS, parameters, isLongRunning: true})._getDeclaration()).toEqual(tool._getDeclaration());
  });

  test('checks its options, too', () => {
    expect(messageOf(() => new LongRunningFunctionTool({...OPTIONS, pollMs: 5} as never))).toContain('`get_weather.pollMs` to be absent');
    expect(messageOf(() => new LongRunningFunctionTool(undefined as never))).toContain('`tool.description` to be a string');
  });
});

describe('a tool of another kind', () => {
  class Echo extends BaseTool {
    async runAsync({args}: {readonly args: Record<string, unknown>}): Promise<unknown> {
      return args;
    }
  }

  test('refuses arguments that are no object, and takes missing ones as none', () => {
    const tool = new Echo({name: 'echo', description: 'd'});
    const args = {a: 1};
    expect(tool.validateArgs(args)).toBe(args);
    expect([tool.validateArgs(''), tool.validateArgs(null), tool.validateArgs(undefined)]).toEqual([{}, {}, {}]);
    expect(() => tool.validateArgs('{bad')).toThrow('Invalid arguments: must be an object, got "{bad" (string).');
    expect(() => tool.validateArgs([])).toThrow('Invalid arguments: must be an object, got an array of 0.');
  });
});

describe('requireConfirmation as a function', () => {
  const call = functionCalls({id: '1', name: 'pay', args: {}});
  const pay = (requireConfirmation: () => unknown) => {
    const tool = {name: 'pay', description: 'Pays.', execute: () => 'paid', requireConfirmation: requireConfirmation as () => boolean};
    return stage({steps: [call, 'Done.'], agent: {tools: [new FunctionTool(tool)]}});
  };

  test.each([[true], [undefined], [null], [0], [''], ['no'], [Promise.resolve(undefined)]])(
    'asks the user where it gives %s',
    async (asks) => {
      const it = await pay(() => asks);
      const [, , response] = await lines(it.run());
      expect(response).toBe('root: pay={"status":"pending"} [waits:1]');
      expect(it.model.calls).toBe(1);
    },
  );

  test.each([[false], [Promise.resolve(false)]])('lets the call run where it gives %s', async (asks) => {
    const it = await pay(() => asks);
    expect((await lines(it.run())).slice(1)).toEqual(['root: pay={"result":"paid"}', 'root: "Done."']);
  });

  test('that throws is an error of the call, which does not run', async () => {
    const it = await pay(() => {
      throw new Error('no limit known');
    });
    expect((await lines(it.run())).slice(1)).toEqual(['root: pay={"error":"no limit known"}', 'root: "Done."']);
  });
});
