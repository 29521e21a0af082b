import {inResponses, type Meant, type Trace} from './meant.ts';

const CONTENT = 'requests[].contents[]';
const DECLARATION = 'requests[].config.tools[].functionDeclarations[]';

/** A paragraph of the system instruction, in ADK's words or in Sluice's. */
const told = (trace: Omit<Trace, 'at'>): Trace => ({at: 'requests[].config.systemInstruction[]', ...trace});
const described = (adk: RegExp, sluice: RegExp): Trace => ({at: `${DECLARATION}.description`, adk, sluice});
const parameter = (name: string, trace: Omit<Trace, 'at'>): Trace => ({
  at: `${DECLARATION}.parametersJsonSchema.properties.${name}.description`,
  ...trace,
});

/** What is said to a model in other words. */
export const inWording: readonly Meant[] = [
  {
    name: 'Its own wording',
    why: 'What a model is told of tools and of other agents is worded anew. It says the same.',
    traces: [
      {at: `${CONTENT}.parts[]`, adk: /^\{"text":"For context:"\}$/},
      {at: `${CONTENT}.parts[].text`, adk: /^\[\w+\] called tool `\w+` with parameters: /, sluice: /^\[\w+\] called tool `\w+` with \{/},
      {at: CONTENT, adk: /"\[\w+\] tool `\w+` returned result: /},
      {at: CONTENT, sluice: /"\[\w+\] got from `\w+`: /},
      told({adk: /You have a list of other|Agent name: |If (you are|another agent is) |Your parent agent/}),
      told({sluice: /^You work with other agents:/}),
      told({adk: /you must call the "set_model_response" function/}),
      told({sluice: /^Give your final answer by calling set_model_response/}),
      told({adk: /^The following content is from your previous conversations[^]*\nuser: The key/}),
      told({sluice: /^This was said in earlier conversations[^]*\nuser: The key/}),
      told({adk: /You have memory\./}),
      told({sluice: /^You remember earlier conversations/}),
      told({adk: /^You have a list of artifacts:\n {2}\["note\.txt"\]|When the user asks questions about any of the artifacts/}),
      told({sluice: /^There are these files:\n\["note\.txt"\]/}),
      described(/^Exits the loop/, /^Ends the loop/),
      described(/NOTE: This is a long-running/, /Its first answer is provisional/),
      described(/^Transfer the question/, /^Hands the conversation over/),
      described(/^Call this tool to submit/, /^Takes your final answer/),
      described(/^Loads the memory/, /^Finds what the user said/),
      described(/^Presents a custom message/, /^Asks the user/),
      described(/^Loads artifacts/, /^Shows you files/),
      parameter('request', {sluice: /^What the agent is to do/}),
      parameter('agentName', {adk: /agent name/, sluice: /name of the agent/}),
      parameter('message', {adk: /^The prompt/, sluice: /^What the user is asked/}),
      parameter('response_schema', {adk: /^Expected schema/, sluice: /^The JSON Schema/}),
      parameter('query', {adk: /^The query/, sluice: /^What to look for/}),
      parameter('artifact_names', {adk: /^The names of the artifacts/, sluice: /^The names of the files/}),
      {at: 'events[].content.parts[].functionResponse.response.result', adk: /^Transfer queued$/},
      {at: 'events[].content.parts[].functionResponse.response.status', sluice: /^transferred$/},
      ...inResponses('status', {adk: /^artifact contents temporarily/, sluice: /^The contents follow, this once/}),
    ],
  },
];
