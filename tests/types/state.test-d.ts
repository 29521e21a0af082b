/** What the compiler knows of a session's state. Checked by `tsc`, never run. */
import {expectTypeOf} from 'vitest';
import {FunctionTool, LlmAgent, State} from 'sluice';

declare module 'sluice' {
  interface StateTypes {
    declaredCart: {readonly items: readonly string[]};
    'user:declaredVisits': number;
  }
}

const state = new State();

// A declared key has its type, with and without a default.
expectTypeOf(state.get('declaredCart')).toEqualTypeOf<{readonly items: readonly string[]} | undefined>();
expectTypeOf(state.get('user:declaredVisits', 0)).toEqualTypeOf<number>();
state.set('user:declaredVisits', 1);
state.set('user:declaredVisits', undefined);
state.update({'user:declaredVisits': 2, other: 'x'});
// @ts-expect-error the key holds a number
state.set('user:declaredVisits', 'many');
// @ts-expect-error the key holds a number
state.update({'user:declaredVisits': 'many'});

// Any other key takes anything, and is of the type that the reader says.
state.set('other', {anything: true});
expectTypeOf(state.get('other')).toEqualTypeOf<unknown>();
expectTypeOf(state.get<string>('other')).toEqualTypeOf<string | undefined>();
expectTypeOf(state.get('other', 'none')).toEqualTypeOf<string>();
const dynamic: string = String(state.get('other'));
state.set(dynamic, 1);
expectTypeOf(state.get(dynamic)).toEqualTypeOf<unknown>();

// In tools and hooks it is the same.
export const tool: FunctionTool = new FunctionTool({
  name: 'count',
  description: 'Counts.',
  execute: (_args, context) => {
    expectTypeOf(context.state.get('user:declaredVisits')).toEqualTypeOf<number | undefined>();
    // @ts-expect-error the key holds a number
    context.state.set('user:declaredVisits', []);
  },
});
export const agent: LlmAgent = new LlmAgent({
  name: 'root',
  model: 'gemini-2.5-flash',
  instruction: ({state: seen}) => `Visits: ${seen.get('user:declaredVisits', 0).toFixed()}`,
  beforeAgentCallback: (context) => context.state.set('user:declaredVisits', 1),
});
