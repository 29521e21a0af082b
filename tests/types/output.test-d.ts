/** What the compiler knows of an agent's output. Checked by `tsc`, never run. */
import {expectTypeOf} from 'vitest';
import {z} from 'zod';
import {type BaseAgent, InMemoryRunner, InMemorySessionService, LlmAgent, Runner, type Event, type RunResult} from '../../lib/index.ts';

const capital = new LlmAgent({
  name: 'capital',
  model: 'gemini-2.5-flash',
  outputSchema: z.object({city: z.string(), people: z.int().optional(), on: z.string().transform((text) => new Date(text))}),
});
expectTypeOf(capital).toEqualTypeOf<LlmAgent<{city: string; people?: number | undefined; on: Date}>>();

const newMessage = {role: 'user', parts: [{text: 'Of France?'}]};
const runner = new Runner({appName: 'app', agent: capital, sessionService: new InMemorySessionService()});
expectTypeOf(runner.run({userId: 'u', newMessage})).resolves.toEqualTypeOf<
  RunResult<{city: string; people?: number | undefined; on: Date}>
>();

const inMemory = await new InMemoryRunner({agent: capital}).run({userId: 'u', sessionId: 's', newMessage});
expectTypeOf(inMemory.output.city).toEqualTypeOf<string>();
// As JSON keeps it.
expectTypeOf(inMemory.output.on).toEqualTypeOf<string>();
expectTypeOf(inMemory.text).toEqualTypeOf<string>();
expectTypeOf(inMemory.events).toEqualTypeOf<readonly Event[]>();
// @ts-expect-error the schema has no such key
console.log(inMemory.output.country);

// Without a schema that brings a type, nothing is known of the output.
const plain = new LlmAgent({name: 'plain', model: 'gemini-2.5-flash'});
expectTypeOf((await new InMemoryRunner({agent: plain}).run({userId: 'u', newMessage})).output).toEqualTypeOf<unknown>();
const bare = new LlmAgent({name: 'bare', model: 'gemini-2.5-flash', outputSchema: {type: 'object', properties: {city: {type: 'string'}}}});
expectTypeOf((await new InMemoryRunner({agent: bare}).run({userId: 'u', newMessage})).output).toEqualTypeOf<unknown>();

// An agent with an output is an agent.
expectTypeOf(capital).toExtend<BaseAgent>();
expectTypeOf(capital).toExtend<LlmAgent>();
const agents: LlmAgent[] = [capital, plain];
export const root: LlmAgent = new LlmAgent({name: 'root', model: 'gemini-2.5-flash', subAgents: agents});
