import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';
import {WorkerPool} from 'sluice/workers';

if (process.argv[2] === 'hasten') {
  // The time that a thread has for its start is over soon.
  const {setTimeout} = globalThis;
  globalThis.setTimeout = Object.assign((callback: () => void, ms?: number) => setTimeout(callback, ms === 10_000 ? 500 : ms), setTimeout);
}

const executor = new WorkerPool({maxThreads: 1, idleMs: 3_600_000});
const echo = new FunctionTool({
  name: 'echo',
  description: '',
  worker: {module: new URL('./bodies.ts', import.meta.url), export: 'echo'},
  timeoutMs: 1_500,
});
const model = new ScriptedLlm({steps: [functionCalls({name: 'echo', args: {n: 1}}), 'done']});
const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model, tools: [echo], executor})});
for await (const event of runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}}))
  for (const {functionResponse} of event.content?.parts ?? []) if (functionResponse) console.log(JSON.stringify(functionResponse.response));
console.log(`threads: ${executor.threads}`);
