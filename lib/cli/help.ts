import type {Option} from './command-line.ts';

/** Explains the options of a command, one below the other. */
export function optionsHelp(options: Readonly<Record<string, Option>>): string {
  const rows = Object.entries(options).map(([name, option]) => {
    const {short, about} = option;
    const value = option.type === 'string' ? ` ${option.value}` : '';
    const flag = `${short ? `-${short}, ` : '    '}--${name}${value}`;
    return {flag, lines: about.split('\n')};
  });
  const width = Math.max(...rows.map(({flag}) => flag.length));
  return rows.flatMap(({flag, lines}) => lines.map((line, at) => `  ${(at === 0 ? flag : '').padEnd(width)}  ${line}`)).join('\n');
}

/** What `sluice --help` prints. */
export const HELP = `sluice: run and serve agents

  sluice run AGENT           chat with an agent in this terminal, or through pipes
  sluice serve AGENTS        serve agents over HTTP, as ADK's API server does
  sluice COMMAND --help      all about a command: options, examples, exit codes

  -h, --help                 print this
  -V, --version              print the version

An agent is a module that exports it as \`rootAgent\`, or by default. TypeScript needs no build: Node 22.18 and newer runs it.

  // agent.ts
  import {LlmAgent} from 'sluice';
  export const rootAgent = new LlmAgent({name: 'guide', model: 'gemini-2.5-flash', instruction: 'Answer briefly.'});

  $ export GEMINI_API_KEY=...
  $ npx sluice run agent.ts
  $ npx sluice serve agent.ts

Environment
  GEMINI_API_KEY             the key of the Gemini API (https://aistudio.google.com/apikey); GOOGLE_API_KEY will do too
  GOOGLE_GENAI_USE_VERTEXAI  true: Vertex AI, with GOOGLE_CLOUD_PROJECT, GOOGLE_CLOUD_LOCATION and gcloud's login
  NO_COLOR                   no colours
  A file .env, next to the agent or in the working directory, sets what is not set yet.
`;
