// An agent that does what it is told, so that a test can bring the command line into any state.
import {once} from 'node:events';
import {setTimeout as pause} from 'node:timers/promises';
import {
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  ModelError,
  requestInputTool,
  type CallbackContext,
  type LlmRequest,
  type LlmResponse,
} from 'sluice';
import {deltas, functionCalls, ScriptedLlm, type ScriptedStep} from 'sluice/testing';

let release: (value: unknown) => void = () => {};

const tools = [
  new FunctionTool({
    name: 'work',
    description: 'Shows progress.',
    async *execute() {
      console.log('logged by a tool');
      yield {done: 'half'};
      return {done: 'all'};
    },
  }),
  new FunctionTool({
    name: 'wait',
    description: 'Works until it is stopped.',
    execute: (_args, {abortSignal}) =>
      new Promise((_resolve, reject) => {
        abortSignal.addEventListener('abort', () => reject(new Error('gave up')), {once: true});
      }),
  }),
  new FunctionTool({
    name: 'deaf',
    description: 'Ignores its signal, and keeps the process busy.',
    execute: () =>
      new Promise((resolve) => {
        release = resolve;
        setInterval(() => {}, 1_000);
      }),
  }),
  new FunctionTool({
    name: 'pay',
    description: 'Pays, once a person has agreed.',
    parameters: {type: 'object', properties: {amount: {type: 'number'}}},
    requireConfirmation: true,
    execute: ({amount}) => ({paid: amount}),
  }),
  requestInputTool,
  new LongRunningFunctionTool({name: 'approve', description: 'Asks a person.', execute: () => ({status: 'asked'})}),
];

const replies: Readonly<Record<string, (request: LlmRequest) => ScriptedStep>> = {
  hello: () => deltas('Good ', 'morning.'),
  whole: () => 'Not streamed.',
  work: () => functionCalls({name: 'work', args: {on: 'it'}}),
  wait: () => functionCalls({name: 'wait', args: {}}),
  deaf: () => functionCalls({name: 'deaf', args: {}}),
  approve: () => functionCalls({name: 'approve', args: {amount: 90}}),
  pay: () => functionCalls({name: 'pay', args: {amount: 90}}),
  ask: () => functionCalls({name: 'adk_request_input', args: {message: 'For how long?', response_schema: {type: 'integer'}}}),
  approveTwice: () => functionCalls({name: 'approve', args: {amount: 1}}, {name: 'approve', args: {amount: 2}}),
  release: () => {
    release('late');
    return 'Released.';
  },
  escapes: () => 'a\u001B[2Jb\u009B1mc\rd\u0007 \u65E5\u672C\r\n\tend',
  lines: () => 'one\u2028two',
  history: (request) => JSON.stringify(request.contents.map(({role, parts}) => [role, ...(parts ?? []).map(brief)])),
  blocked: () => ({errorCode: 'SAFETY', errorMessage: 'Blocked.'}),
  fail: () => new ModelError('The quota is used up', {code: 'RESOURCE_EXHAUSTED'}),
  crash: () => new TypeError('a bug of the developer'),
  crashCallback: () => 'Not shown.',
  hang: () => stream(async () => await new Promise<never>(() => {})),
  linger: () => stream(async () => await new Promise<never>(() => {})),
  endless: () => stream(() => pause(2)),
  flood: () => stream(() => pause(2), 'x'.repeat(8_000_000)),
  typeAhead,
};

function answer(request: LlmRequest): ScriptedStep {
  const last = request.contents.at(-1)?.parts?.at(-1);
  if (last?.functionResponse) return `Got ${JSON.stringify(last.functionResponse.response)}.`;
  return replies[last?.text ?? '']?.(request) ?? `You said ${JSON.stringify(last?.text)}.`;
}

const say = (text: string): LlmResponse => ({partial: true, content: {role: 'model', parts: [{text}]}});

/** Two words, and then more after each turn that the step takes. */
async function* stream(step: () => Promise<void>, more = 'and on '): AsyncGenerator<LlmResponse, void, undefined> {
  yield say('Once ');
  yield say('upon ');
  for (;;) {
    await step();
    yield say(more);
  }
}

/** Ends when this process, whose number it tells on stderr, is sent SIGUSR2. */
async function* typeAhead(): AsyncGenerator<LlmResponse, void, undefined> {
  yield say('Once ');
  const told = once(process, 'SIGUSR2');
  console.error(`<${process.pid}>`);
  await told;
  yield {content: {role: 'model', parts: [{text: 'Once upon.'}]}};
}

function brief({text, functionCall, functionResponse}: NonNullable<LlmRequest['contents'][number]['parts']>[number]): unknown {
  return text ?? functionCall?.name ?? functionResponse?.response;
}

/** A callback that fails, and one that writes past the command line, or that the closing of a run waits for as long as it may. */
async function afterModel({userContent}: CallbackContext): Promise<undefined> {
  if (userContent?.parts?.[0]?.text === 'crashCallback') throw new TypeError('a bug of the developer');
}

async function afterAgent({userContent}: CallbackContext): Promise<undefined> {
  if (userContent?.parts?.[0]?.text === 'logLast') process.stdout.write('x'.repeat(8_000_000));
  if (userContent?.parts?.[0]?.text !== 'linger') return;
  console.error('lingers');
  await new Promise<never>(() => {});
}

export const rootAgent: LlmAgent = new LlmAgent({
  name: 'puppet',
  model: new ScriptedLlm({steps: Array(50).fill(answer)}),
  tools,
  afterModelCallback: ({context}) => afterModel(context),
  afterAgentCallback: afterAgent,
});
