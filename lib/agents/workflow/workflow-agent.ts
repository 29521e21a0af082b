import {InvalidOptionError} from '../../errors.ts';
import type {Event} from '../../events/event.ts';
import {checkOptions, isAnything, type Check, type OptionSpec} from '../../schema/options.ts';
import {BaseAgent, type BaseAgentConfig} from '../base-agent.ts';

/** What `BaseAgent` checks itself. */
const OPTIONS: OptionSpec<BaseAgentConfig> = {
  name: isAnything,
  description: isAnything,
  subAgents: isAnything,
  beforeAgentCallback: isAnything,
  afterAgentCallback: isAnything,
};

/** What the agents have in common that run others by a fixed rule, without a model of their own. */
export abstract class WorkflowAgent extends BaseAgent {
  /** @internal Tells the runner that this agent goes on where an agent below it asked, when the answer comes with a later run. */
  readonly resumesSubAgents: boolean = true;
  /** Whether an escalation from below ends with this agent. */
  protected readonly takesEscalation: boolean = false;

  /**
   * @param options - checks of what the agent takes besides
   * @throws {@link InvalidOptionError} where an option is unknown, or cannot be used
   */
  constructor(config: BaseAgentConfig, options: Readonly<Record<string, Check>> = {}) {
    super(config);
    checkOptions<object>(this.name, config, {...OPTIONS, ...options});
  }

  /** Whether an Event from below asks this agent to act: it escalates, and no agent in between has taken that. */
  protected escalates(event: Event): boolean {
    if (event.actions.escalate !== true) return false;
    for (let at = this.findSubAgent(event.author)?.parentAgent; at && at !== this; at = at.parentAgent) {
      if (at instanceof WorkflowAgent && at.takesEscalation) return false;
    }
    return true;
  }

  /** @throws {@link InvalidOptionError} always: a live run is one conversation with one model */
  protected override runLiveImpl(): never {
    throw new InvalidOptionError('runner.agent', `an agent that can talk live, such as an LlmAgent; \`${this.name}\` runs others`, this);
  }
}
