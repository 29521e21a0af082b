/**
 * What the compiler knows of a tool's arguments. Checked by `tsc`, never run: each `@ts-expect-error` fails the type check once the line
 * below it compiles.
 */
import {Type, type Schema} from '@google/genai';
import {toStandardJsonSchema} from '@valibot/to-json-schema';
import {type} from 'arktype';
import * as v from 'valibot';
import {expectTypeOf} from 'vitest';
import {z} from 'zod';
import * as mini from 'zod/mini';
import type {Context} from '../../lib/context/context.ts';
import type {BaseTool} from '../../lib/tools/base-tool.ts';
import {FunctionTool} from '../../lib/tools/function-tool.ts';
import {LongRunningFunctionTool} from '../../lib/tools/long-running-function-tool.ts';

const about = {name: 'get_weather', description: 'Current weather for a city.'};
const weather = z.object({
  city: z.string(),
  days: z.number().default(1),
  on: z
    .string()
    .transform((text) => new Date(text))
    .optional(),
});

// The body gets what comes out of the schema: defaults are there, transforms are done.
const zodTool = new FunctionTool({
  ...about,
  parameters: weather,
  execute: (args, context) => {
    expectTypeOf(args).toEqualTypeOf<{city: string; days: number; on?: Date | undefined}>();
    expectTypeOf(context).toEqualTypeOf<Context>();
    expectTypeOf(context.abortSignal).toEqualTypeOf<AbortSignal>();
    return args.city;
  },
});

const valibotTool = new FunctionTool({
  ...about,
  parameters: toStandardJsonSchema(v.object({city: v.string(), days: v.optional(v.number(), 1)})),
  execute: async (args) => expectTypeOf(args).toEqualTypeOf<{city: string; days: number}>(),
});

const arktypeTool = new FunctionTool({
  ...about,
  parameters: type({city: 'string', 'days?': 'number'}),
  execute: (args) => expectTypeOf(args).toEqualTypeOf<{city: string; days?: number}>(),
});

const miniTool = new FunctionTool({
  ...about,
  parameters: z.toJSONSchema(mini.object({city: mini.string()})),
  execute: (args) => expectTypeOf(args).toEqualTypeOf<{city: string}>(),
});

// The order of the options does not matter.
const earlyBody = new FunctionTool({execute: ({city}) => expectTypeOf(city).toEqualTypeOf<string>(), ...about, parameters: weather});

const generatorTool = new FunctionTool({
  ...about,
  parameters: weather,
  async *execute({city, days}, {abortSignal}) {
    expectTypeOf(city).toEqualTypeOf<string>();
    expectTypeOf(abortSignal).toEqualTypeOf<AbortSignal>();
    for (let day = 0; day < days; day++) yield {day};
    return {city};
  },
});

const longRunningTool = new LongRunningFunctionTool({
  ...about,
  parameters: weather,
  execute: ({city}) => expectTypeOf(city).toEqualTypeOf<string>(),
});

// Without a validator nothing is known of the values.
const genaiSchema: Schema = {type: Type.OBJECT, properties: {city: {type: Type.STRING}}};
const genaiTool = new FunctionTool({
  ...about,
  parameters: genaiSchema,
  execute: (args) => expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>(),
});
const jsonTool = new FunctionTool({
  ...about,
  parameters: {type: 'object', properties: {city: {type: 'string'}}},
  execute: ({city}) => expectTypeOf(city).toEqualTypeOf<unknown>(),
});
const bareTool = new FunctionTool({...about, execute: (args) => expectTypeOf(args).toEqualTypeOf<Record<string, unknown>>()});

// Tools of all schemas go into one list, and each is a FunctionTool.
const tools: readonly BaseTool[] = [
  zodTool,
  valibotTool,
  arktypeTool,
  miniTool,
  earlyBody,
  generatorTool,
  longRunningTool,
  genaiTool,
  jsonTool,
  bareTool,
];
const plain: FunctionTool = zodTool;
expectTypeOf(tools).toExtend<readonly BaseTool[]>();
expectTypeOf(plain).toExtend<BaseTool>();

// A function that is written elsewhere, too, must take what the schema gives.
const fits = async ({city}: {city: string}): Promise<string> => city;
void new FunctionTool({...about, parameters: weather, execute: fits});

// @ts-expect-error the schema gives a string, the body takes a number
void new FunctionTool({...about, parameters: weather, execute: ({city}: {city: number}) => city});
// @ts-expect-error the schema has no `town`
void new FunctionTool({...about, parameters: weather, execute: ({town}) => town as unknown});
// @ts-expect-error a default is a number, and never missing
void new FunctionTool({...about, parameters: weather, execute: ({days}: {days: string}) => days});
// @ts-expect-error an optional argument may be missing
void new FunctionTool({...about, parameters: weather, execute: ({on}: {on: Date}) => on});
// @ts-expect-error valibot alone has no JSON form
void new FunctionTool({...about, parameters: v.object({city: v.string()}), execute: () => 1});
// @ts-expect-error the root must be an object
void new FunctionTool({...about, parameters: z.string(), execute: () => 1});
// @ts-expect-error a record of schemas is no schema
void new FunctionTool({...about, parameters: {city: z.string()}, execute: () => 1});
// @ts-expect-error there is no such option
void new FunctionTool({...about, timeout: 5, execute: () => 1});
// @ts-expect-error the model must be told when to use it
void new FunctionTool({name: 'get_weather', execute: () => 1});
// @ts-expect-error it is long-running by its class
void new LongRunningFunctionTool({...about, isLongRunning: false, execute: () => 1});
