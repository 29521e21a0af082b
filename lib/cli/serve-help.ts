import type {OptionsFor} from './command-line.ts';
import {optionsHelp} from './help.ts';

/** What `sluice serve` is given. */
export interface ServeValues {
  readonly port?: string;
  readonly host?: string;
  readonly 'allowed-hosts'?: string;
  readonly cors?: string;
  readonly 'on-disconnect'?: string;
  readonly help?: true;
}

/** The options of `sluice serve`. */
export const SERVE_OPTIONS: OptionsFor<ServeValues> = {
  port: {type: 'string', short: 'p', value: 'PORT', about: 'default: 8000; 0 takes one that is free'},
  host: {
    type: 'string',
    value: 'ADDRESS',
    about: 'default: 127.0.0.1, which only this machine reaches; with 0.0.0.0 whoever\nreaches this machine may use the agents',
  },
  'allowed-hosts': {
    type: 'string',
    value: 'NAMES',
    about:
      "the hosts that requests may be for, beside this machine's own (localhost): those\nof a proxy in front, a.example,b.example without a port, or * for any (default:\nnone; any with a --host that others reach)",
  },
  cors: {
    type: 'string',
    value: 'ORIGINS',
    about: 'pages that may use the server: https://a.example,https://b.example, or *\n(default: none)',
  },
  'on-disconnect': {
    type: 'string',
    value: 'WHAT',
    about: 'a client that leaves ends its run (abort, the default), or the run goes on\n(continue)',
  },
  help: {type: 'boolean', short: 'h', about: 'print this'},
};

/** What `sluice serve --help` prints. */
export const SERVE_HELP: string = `Usage: sluice serve [options] AGENTS

Serves agents over HTTP with the routes of ADK's API server: /list-apps, sessions, /run, /run_sse, /run_live.
AGENTS is a folder of agents, the folder of one, or a file. Sessions are kept in memory.

  agents/
    weather.ts          the app \`weather\`: the agent that it exports as \`rootAgent\`, or by default
    travel/agent.ts     the app \`travel\`; index.ts will do too
    clock.ts            passed over where it exports neither

Options
${optionsHelp(SERVE_OPTIONS)}

Ctrl-C and SIGTERM let the runs that go on finish for 5 seconds, stop what is left with its session valid, and end the server.
A second one ends it at once.

Exit codes
  0    ended by Ctrl-C or SIGTERM
  1    an agent could not be loaded, the port is in use, or the server failed to close
  2    the command line was wrong
  130, 143  ended at once by a second Ctrl-C, SIGTERM

Examples
  sluice serve agents/
  sluice serve agents/ --port 8080 --cors http://localhost:4200
  curl localhost:8000/list-apps
  curl -N localhost:8000/run_sse -H 'content-type: application/json' -d '{"appName": "weather", "userId": "u", "sessionId": "s",
    "streaming": true, "newMessage": {"role": "user", "parts": [{"text": "Weather in Paris?"}]}}'
`;
