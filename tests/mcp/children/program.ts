/**
 * A program with an agent and an MCP server, for what becomes of both at its end: `close` closes the runner, `leave` just ends, `exit` calls
 * `process.exit()` in the middle of a call. Its arguments: what it does, and the connection's parameters.
 */
import {getEventListeners} from 'node:events';
import {InMemoryRunner, LlmAgent} from 'sluice';
import {MCPToolset, type MCPConnectionParams} from 'sluice/mcp';
import {functionCalls, ScriptedLlm} from 'sluice/testing';

const [end, params = ''] = process.argv.slice(2);
process.on('unhandledRejection', (error) => console.log('unhandled', error));
const toolset = new MCPToolset(JSON.parse(params) as MCPConnectionParams);
const model = new ScriptedLlm({steps: [functionCalls({name: 'now', args: {}}), 'done']});
const runner = new InMemoryRunner({agent: new LlmAgent({name: 'root', model, tools: [toolset]}), autoCreateSession: true});
if (end === 'exit') process.stdin.once('data', () => process.exit());
const stop = new AbortController();
const run = runner.runAsync({userId: 'u', sessionId: 's', newMessage: {role: 'user', parts: [{text: 'go'}]}, abortSignal: stop.signal});
for await (const event of run) {
  for (const {functionResponse, text} of event.content?.parts ?? []) {
    if (functionResponse) console.log(JSON.stringify(functionResponse.response));
    if (text) console.log(text);
  }
}
if (end === 'close') {
  await runner.close();
  // The handle of a process that is gone is closed at the end of the event loop's turn.
  for (let turn = 0; turn < 2; turn++) await new Promise((resolve) => setImmediate(resolve));
  console.log(process.getActiveResourcesInfo().filter((name) => /Process|Timeout|TCP/.test(name)));
  console.log(getEventListeners(stop.signal, 'abort').length, process.listenerCount('exit'));
}
