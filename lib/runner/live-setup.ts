import {resolveRunConfig} from '../agents/run-config.ts';
import {checkLiveRunRequest, type LiveRunRequest} from './live-run-request.ts';
import type {RunSetup} from './run-life.ts';
import {runSetup, type RunHost} from './run-setup.ts';
import type {Run} from './run.ts';

/** How a live run starts. Nobody waits for its session meanwhile. */
export function liveSetup(host: RunHost, run: Run, request: LiveRunRequest): RunSetup {
  const config = resolveRunConfig([request?.runConfig, host.runConfig], host.unused, true);
  checkLiveRunRequest(request);
  return runSetup(host, run, {request, config, exclusive: true}, async (life) => {
    // Loaded by who needs it: most programs have no live runs.
    const {liveEvents} = await import('sluice/live');
    return liveEvents(host, run.invocationId, request, life);
  });
}
