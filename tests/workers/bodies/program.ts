import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';
import {WorkerPool} from 'sluice/workers';

const executor = new WorkerPool({idleMs: 3_600_000});
const echo = new FunctionTool({
  name: 'echo',
  description: '',
  worker: {module: new URL('./bodies.ts', import.meta.url), export: 'echo'},
});
const model = new ScriptedLlm({steps: [functionCalls({name: 'echo', args: {}}), 'done']});
const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model, tools: [echo], executor})});
for await (const event of runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}})) void event;
console.log(`threads: ${executor.threads}`);
