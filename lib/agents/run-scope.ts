import type {Gate} from '../async/gate.ts';
import type {Lifetime} from '../async/lifetime.ts';
import type {Timers} from '../async/timers.ts';
import type {RunServices} from '../context/context-options.ts';
import type {Content} from '../content.ts';
import type {Context} from '../context/context.ts';
import {InvalidOptionError} from '../errors.ts';
import type {LoopWatch} from '../dispatch/loop-watch.ts';
import type {Event} from '../events/event.ts';
import type {BaseSessionService} from '../sessions/base-session-service.ts';
import type {Session} from '../sessions/session.ts';
import type {Steps} from '../steps/steps.ts';
import type {Diagnostic} from './diagnostic.ts';
import type {LiveRequestQueue} from './live-request-queue.ts';
import type {LlmCalls} from './llm-calls.ts';
import type {OpenWork} from './open-work.ts';
import type {PluginHooks} from './plugin-hooks.ts';
import type {ResolvedRunConfig} from './run-config.ts';

/** What all agents of one run share. */
export interface RunScope {
  readonly invocationId: string;
  readonly session: Session;
  readonly sessionService: BaseSessionService;
  readonly userContent: Content | undefined;
  readonly services: RunServices;
  readonly config: ResolvedRunConfig;
  readonly steps: Steps;
  readonly life: Lifetime;
  readonly timers: Timers;
  /** One for the whole run, so that no depth of agents multiplies it. */
  readonly gate: Gate;
  readonly watch: LoopWatch;
  readonly llmCalls: LlmCalls;
  readonly open: OpenWork;
  readonly diagnose: (diagnostic: Diagnostic) => void;
  /** In branches that run beside each other: whether another one has given this id to a call. */
  readonly callIds?: {isTaken(id: string, branch: string | undefined): boolean} | undefined;
  /** Where the runner has plugins. */
  readonly plugins?: PluginHooks | undefined;
  /** In a live run only. */
  readonly live?: LiveScope | undefined;
}

/** What a live run has besides. */
export interface LiveScope {
  readonly queue: LiveRequestQueue;
  /** Where the first connection goes on, as a server once told it. */
  readonly resumptionHandle: string | undefined;
  /** Stores a whole Event ahead of the reader; what it resolves to is yielded later and not stored again. */
  readonly store: (event: Event) => Promise<Event>;
}

/** The run that handed out a context. */
export function runScopeOf(context: Context): RunScope {
  const {run} = context.source;
  if (!run) throw new InvalidOptionError('toolContext', 'the context of a run', context);
  return run as RunScope;
}
