import type {OptionsFor} from './command-line.ts';
import {optionsHelp} from './help.ts';

/** What `sluice run` is given. */
export interface RunValues {
  readonly message?: string;
  readonly json?: true;
  readonly session?: string;
  readonly state?: string;
  readonly user?: string;
  readonly interactive?: true;
  readonly 'no-stream'?: true;
  readonly help?: true;
}

/** The options of `sluice run`. */
export const RUN_OPTIONS: OptionsFor<RunValues> = {
  message: {
    type: 'string',
    short: 'm',
    value: 'TEXT',
    about: 'say this, print the answer, and leave',
  },
  json: {
    type: 'boolean',
    about:
      'print every Event as a line of JSON on stdout, and nothing else there;\na line of input may be JSON too: {"parts": [...]}, or a string',
  },
  session: {
    type: 'string',
    value: 'FILE',
    about: 'keep the conversation in this file, and go on with it where it is there',
  },
  state: {type: 'string', value: 'JSON', about: 'the state that a new session begins with, an object'},
  user: {type: 'string', value: 'ID', about: "who speaks; default: 'user'"},
  interactive: {
    type: 'boolean',
    short: 'i',
    about: 'chat as in a terminal where stdin is none, such as under an editor:\nan interrupt stops the answer, and the chat goes on',
  },
  'no-stream': {type: 'boolean', about: 'ask for whole replies only'},
  help: {type: 'boolean', short: 'h', about: 'print this'},
};

/** What `sluice run --help` prints. */
export const RUN_HELP: string = `Usage: sluice run [options] AGENT

Chats with an agent. AGENT is a module that exports one as \`rootAgent\` or by default (agent.ts), or a folder with an agent.ts.
In a terminal, type a message and Enter; what is pasted is one message. Otherwise every line of stdin is one, until stdin ends.
The text of answers goes to stdout; calls of tools, their progress and their responses go to stderr.

Options
${optionsHelp(RUN_OPTIONS)}

Keys
  Ctrl-C  stops the answer: the model's request and the tools. The session keeps what was done, and the chat goes on.
          A second one, or one at an empty prompt, leaves.
  Ctrl-D  leaves; while an answer runs, once it has ended.

Calls that wait
  A long-running tool ends the run with a call that waits. The next message is its answer: a JSON object is the response, other JSON
  or text is its result. An empty line leaves it open. With --json an answer is a message, its id that of the call:
  {"parts": [{"functionResponse": {"id": "...", "name": "approve", "response": {"approved": true}}}]}

Exit codes
  0    all runs succeeded, or a chat was left; also when the reader of stdout left
  1    a run failed, gave no usable answer, the agent could not be loaded, or the session could not be kept
  2    the command line was wrong
  130  interrupted: Ctrl-C, SIGINT
  143  SIGTERM, 129 SIGHUP: the run was stopped first
  Once interrupted, it waits a second at most for the reader of stdout to take what is left.

Examples
  sluice run agent.ts
  sluice run agent.ts -m 'Weather in Paris?' > answer.txt
  sluice run agent.ts --session chat.json -m 'And tomorrow?'
  sluice run agent.ts --json < questions.txt | jq -r 'select(.partial | not) | .content.parts[].text // empty'
`;
