import type {LiveRequestQueue} from '../agents/live-request-queue.ts';
import {checkOptions, has, isName, optional, type OptionSpec} from '../schema/options.ts';
import {runOptions, type RunRequest} from './run-request.ts';

/** One live run: whose it is, and what the user sends to it. */
export interface LiveRunRequest extends Omit<RunRequest, 'newMessage' | 'stateDelta' | 'customMetadata'> {
  /** What the user says while the run goes on. One queue for each run. */
  readonly liveRequestQueue: LiveRequestQueue;
  /** Goes on where an earlier connection was: the newest handle of its `liveSessionResumptionUpdate` Events. */
  readonly liveSessionResumptionHandle?: string | undefined;
}

const OPTIONS: OptionSpec<LiveRunRequest> = {
  ...runOptions,
  liveRequestQueue: has('sendContent', 'a LiveRequestQueue'),
  liveSessionResumptionHandle: optional(isName),
};

/** @throws {@link InvalidOptionError} for a request that cannot be run */
export function checkLiveRunRequest(request: LiveRunRequest): void {
  checkOptions('request', request, OPTIONS);
}
