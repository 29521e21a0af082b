// What keeps a process alive: a run that somebody waits for. What does not: one that nobody reads.
import {FunctionTool, InMemoryRunner, LlmAgent, StreamingMode, type Run, type RunConfig} from 'sluice';
import {deltas, functionCalls, hang, ScriptedLlm, type ScriptedStep} from 'sluice/testing';

const [what] = process.argv.slice(2);

const deafTool = new FunctionTool({name: 'deaf', description: 'Never answers.', execute: () => new Promise(() => {})});

function start(steps: readonly ScriptedStep[], runConfig: RunConfig): Run {
  const agent = new LlmAgent({name: 'root', model: new ScriptedLlm({steps}), tools: [deafTool]});
  const runner = new InMemoryRunner({agent, appName: 'app', onDiagnostic: () => {}});
  return runner.runEphemeral({userId: 'u', newMessage: {role: 'user', parts: [{text: 'go'}]}, runConfig});
}

const scenes: Record<string, () => Promise<string>> = {
  // Nothing but the run's own deadline can end this; without it the process would leave with the promise pending.
  waiting: async () => {
    const run = start([hang()], {timeoutMs: 300});
    return run.next().then(
      () => 'an event',
      (error: unknown) => (error as {code: string}).code,
    );
  },
  'waiting for a deaf tool': async () => {
    const run = start([functionCalls({name: 'deaf'})], {abortGraceMs: 100});
    await run.next();
    void run.next();
    await new Promise((resolve) => setImmediate(resolve));
    await run.return();
    return (await run.settled).kind;
  },
  idle: async () => {
    const run = start([deltas('a', 'b')], {streamingMode: StreamingMode.SSE, timeoutMs: 600_000});
    await run.next();
    return 'one event';
  },
  'never started': async () => {
    start(['unused'], {});
    return 'nothing';
  },
};
console.log(await scenes[what!]!());
