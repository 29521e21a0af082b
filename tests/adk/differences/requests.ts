import type {Meant} from './meant.ts';

const CONTENT = 'requests[].contents[]';
const DECLARATION = 'requests[].config.tools[].functionDeclarations[]';
const INSTRUCTION = 'requests[].config.systemInstruction';

/** What a model is asked. */
export const inRequests: readonly Meant[] = [
  {
    name: 'Nothing is added to an instruction',
    why: 'The program decides what its agent is told. Who needs the name or the description in it writes it there.',
    traces: [
      {at: `${INSTRUCTION}[]`, adk: /^You are an agent\. Your internal name is "\w+"\.$/},
      {at: `${INSTRUCTION}[]`, adk: /^The description about you is "[^"]*"$/},
      {at: INSTRUCTION, adk: /^You are an agent\. Your internal name is "\w+"\.(\n\nThe description about you is "[^"]*")?$/},
    ],
  },
  {
    name: 'Braces in pairs stay',
    why: '`{{name}}` is how templates of other kinds are written, and no place for a value. ADK fills it in, and takes every brace around a name away.',
    traces: [
      {at: `${INSTRUCTION}[]`, adk: /with Ada in the place/},
      {at: `${INSTRUCTION}[]`, sluice: /with \{\{name\}\} in the place/},
      {at: `${INSTRUCTION}[]`, adk: /as in \{"to": Ada\.$/},
      {at: `${INSTRUCTION}[]`, sluice: /as in \{"to": Ada\}\.$/},
    ],
    programs: ['instruction-braces'],
  },
  {
    name: 'No labels',
    why: 'A request carries nothing that the program did not ask for; `generateContentConfig.labels` does.',
    traces: [{at: 'requests[].config.labels', adk: /^\{"adk_agent_name":"\w+"\}$/}],
  },
  {
    name: 'Schemas are JSON Schema',
    why: 'JSON Schema says all that a zod schema says; in the notation of genai a part of it is lost.',
    traces: [
      {at: `${DECLARATION}.parameters`, adk: /^parameters$/, sluice: /^parametersJsonSchema$/},
      {at: 'requests[].config.responseSchema', adk: /^responseSchema$/, sluice: /^responseJsonSchema$/},
    ],
  },
  {
    name: 'No parameters for a tool without any',
    why: 'The two say the same, and this one is shorter.',
    traces: [{at: `${DECLARATION}.parameters`, adk: /^\{"properties":\{\},"type":"OBJECT"\}$/}],
  },
  {
    name: 'Ids of calls reach the model',
    why: 'A model of yours can tell two calls of one tool apart. `Gemini` sends exactly the ids that came from the server, as in ADK.',
    traces: ['functionCall', 'functionResponse'].map((key) => ({at: `${CONTENT}.parts[].${key}.id`, sluice: /^call \d$/})),
  },
  {
    name: 'A transfer can only name agents that there are',
    why: 'The names stand in the schema as an `enum`, so that the model cannot invent one.',
    traces: [{at: `${DECLARATION}.parametersJsonSchema.properties.agentName.enum`, sluice: /^\["\w+"(,"\w+")*\]$/}],
    programs: ['global-instruction', 'inherited-model', 'transfer'],
  },
  {
    name: 'A request ends with the user',
    why: 'A model that has spoken last is asked to go on by the run, for every model; in ADK its `Gemini` does it.',
    traces: [{at: CONTENT, sluice: /^\{"parts":\[\{"text":"Continue\."\}\],"role":"user"\}$/}],
    programs: ['loop'],
  },
];
