import {FunctionTool, InMemoryRunner, LlmAgent} from 'sluice';
import {functionCalls, ScriptedLlm} from 'sluice/testing';

const count = new FunctionTool({
  name: 'count',
  description: '',
  worker: {module: new URL('./bodies.ts', import.meta.url), export: 'count'},
});
const model = new ScriptedLlm({steps: [functionCalls({name: 'count', args: {to: 9}}), 'done']});
const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model, tools: [count]})});
const run = runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}});
// Kept, and never asked for more.
Object.assign(globalThis, {run});
await run.next();
const {value} = await run.next();
console.log(JSON.stringify(value?.content?.parts?.[0]?.functionResponse?.response));
