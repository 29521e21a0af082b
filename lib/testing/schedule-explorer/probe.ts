import {LlmAgent} from '../../agents/llm/llm-agent.ts';
import type {Event} from '../../events/event.ts';
import {Runner} from '../../runner/runner.ts';
import type {RunOutcome} from '../../runner/run-outcome.ts';
import {collect, type Collected} from '../collect.ts';
import {ScriptedLlm} from '../scripted-llm.ts';
import type {Scenario} from './scenario.ts';

/** A next run on the session that was stopped. */
export interface Probe extends Collected<Event, RunOutcome> {
  readonly model: ScriptedLlm;
}

/** Starts it: it must find the session free, and brings a request with everything that was said before. */
export async function probe({runner, request, agents = []}: Scenario, author: string): Promise<Probe> {
  const model = new ScriptedLlm({model: 'probe', steps: ['Fine.']});
  const names = [...agents, runner.agent].map(({name}) => name);
  const next = new Runner({
    appName: runner.appName,
    // The agent that made the calls sees them as calls; another one would be told of them.
    agent: new LlmAgent({name: author === 'user' ? (names.at(-1) ?? 'probe') : author, model}),
    sessionService: runner.sessionService,
    autoCreateSession: true,
    onDiagnostic: () => {},
  });
  const {userId, sessionId} = request;
  const newMessage = {role: 'user', parts: [{text: 'Go on.'}]};
  const collected = await collect(next.runAsync({userId, sessionId, newMessage, runConfig: {sessionWaitMs: 0, timeoutMs: 30_000}}));
  return {...collected, model};
}
