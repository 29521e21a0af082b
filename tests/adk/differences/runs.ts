import {inResponses, type Meant} from './meant.ts';

const EVENT = 'events[]';

/** How a run goes and ends, and what is in its Events. */
export const inRuns: readonly Meant[] = [
  {
    name: 'No empty `longRunningToolIds`',
    why: 'The key is there where a call waits.',
    traces: [{at: `${EVENT}.longRunningToolIds`, adk: /^\[\]$/}],
  },
  {
    name: 'Output in a form stands in the Event',
    why: '`event.output` is the checked value, and `runner.run()` is typed by it. The call of `set_model_response` is shown as every call is.',
    traces: [
      {at: `${EVENT}.output`, sluice: /^\{"capital":"Paris","people":2100000\}$/},
      {at: EVENT, sluice: /"functionCall":\{.*"name":"set_model_response"/},
      {at: EVENT, sluice: /"functionResponse":\{.*"name":"set_model_response"/},
      {at: `${EVENT}.actions.skipSummarization`, adk: /^true$/},
      {at: `${EVENT}.finishReason`, adk: /^STOP$/},
    ],
    programs: ['output-schema', 'output-schema-with-tools'],
  },
  {
    name: 'A run that fails throws',
    why: 'An error of the model, of a callback, or of a limit rejects `next()` with a class of its own. In ADK it is an Event, and the run is done.',
    traces: [
      {at: EVENT, adk: /"errorCode":"UNKNOWN_ERROR","errorMessage":"mute has no reply 1"/},
      {at: 'notes.caught', sluice: /^ModelError$/},
      {at: EVENT, adk: /"errorCode":"UNKNOWN_ERROR","errorMessage":"No quota is left\."/},
      {at: 'notes.caught', sluice: /^HookError$/},
      {at: EVENT, adk: /"errorCode":"UNKNOWN_ERROR","errorMessage":"Max number of llm calls limit of 2 exceeded"/},
      {at: 'notes.caught', sluice: /^LlmCallsLimitExceededError$/},
    ],
    programs: ['call-limit', 'failing-callback', 'failing-model'],
  },
  {
    name: 'An unusable reply ends a sequence or a loop',
    why: 'What follows would work on nothing. The Event with the `errorCode` is the last one, and it has no empty content.',
    traces: [
      {at: `${EVENT}.content`, adk: /^\{"parts":\[\],"role":"model"\}$/},
      {at: EVENT, adk: /"text":"Printed\."/},
      {at: 'requests[]', adk: /Print: /},
    ],
    programs: ['unusable-reply'],
  },
  {
    name: 'An escalation ends the nearest loop',
    why: 'The loop that the agent works in is done with it, and the loop around goes on. In ADK it ends every loop around it.',
    traces: [
      {at: EVENT, sluice: /"author":"printer"/},
      {at: EVENT, sluice: /"author":"polisher".*"id":"call 2"/},
      {at: 'requests[]', sluice: /Polish a chapter/},
      {at: 'requests[]', sluice: /"systemInstruction":"Print\."/},
    ],
    programs: ['nested-loops'],
  },
  {
    name: 'There is no `endInvocation`',
    why: 'An agent of your own is over when its `runAsyncImpl` returns, and `afterAgentCallback` is called at every end. A tool that is to be the last one sets `actions.skipSummarization`, and a run is stopped from outside by `runner.cancel`.',
    traces: [{at: 'notes.after', sluice: /^called$/}],
    programs: ['end-invocation'],
  },
  {
    name: 'State of the user and of the app is shared from the start',
    why: 'Keys with `user:` and `app:` that a session is created with are those of every session. ADK keeps them in the one session.',
    traces: [
      {at: 'notes.thrown', adk: /Context variable not found: `user:style`/},
      {at: EVENT, sluice: /"poem":"A poem on sun\."/},
      {at: 'requests[]', sluice: /Write about sun in the style of Basho/},
      {at: 'notes.second', sluice: /"user:style":"Basho"/},
    ],
    programs: ['state'],
  },
  {
    name: 'A `temp:` key of `stateDelta` reaches the run',
    why: 'It lives as long as the run that it came with.',
    traces: [
      {at: 'requests[].config.systemInstruction[]', adk: /Tone: \. Before: A poem/},
      {at: 'requests[].config.systemInstruction[]', sluice: /Tone: glad\. Before: A poem/},
    ],
    programs: ['state'],
  },
  {
    name: 'The reader sees `temp:` keys',
    why: 'The Event tells all that was written; the store leaves these keys out.',
    traces: [{at: `${EVENT}.actions.stateDelta.temp:checks`, sluice: /^1$/}],
    programs: ['parallel-calls'],
  },
  {
    name: 'Plugins hear of agents',
    why: 'ADK declares `beforeAgentCallback` and `afterAgentCallback` of a plugin, and never calls them.',
    traces: [
      {at: 'notes.seen[]', sluice: /^before divider$/},
      {at: 'notes.seen[]', sluice: /^after divider$/},
    ],
    programs: ['plugins'],
  },
  {
    name: 'A plugin can answer for a model that failed',
    why: 'Its response becomes the Event. In ADK the run throws a `TypeError` over it.',
    traces: [
      {at: EVENT, adk: /^\{"content":\{"parts":\[\{"text":"Ask me later\."\}\],"role":"model"\}\}$/},
      {at: EVENT, sluice: /"author":"clerk","content":\{"parts":\[\{"text":"Ask me later\."/},
      {at: 'notes.thrown', adk: /^TypeError: /},
    ],
    programs: ['plugin-answers'],
  },
  {
    name: 'What `beforeRunCallback` says comes from the agent',
    why: 'The author is the name of the agent that it speaks for, so that the next turn finds its way. In ADK it is `model`.',
    traces: [
      {at: EVENT, adk: /"author":"model"/},
      {at: EVENT, sluice: /"author":"clerk"/},
    ],
    programs: ['plugin-closes'],
  },
  {
    name: 'Toolsets are closed with the runner',
    why: '`runner.close()` closes them once. ADK closes them after every run, while another one may be using them.',
    traces: [{at: 'notes.happened[]', adk: /^closed$/}],
    programs: ['toolset'],
  },
  {
    name: 'What cannot be meant is an error',
    why: 'An option that there is none of, two agents of one name, and a session id that is taken are refused where they are given.',
    traces: [
      {at: 'notes.a misspelt option', adk: /^accepted$/, sluice: /^refused$/},
      {at: 'notes.two agents of one name', adk: /^accepted$/, sluice: /^refused$/},
      {at: 'notes.a session id that is taken', adk: /^accepted$/, sluice: /^refused$/},
    ],
    programs: ['options'],
  },
  {
    name: 'An agent stays what it was made of',
    why: 'Its options are readonly, and `tools` and `subAgents` are frozen: what is added later would not be checked, and other runs may be under way. Tools that change come from a `BaseToolset`, instructions that change from a function.',
    traces: [
      {at: 'notes.a tool', adk: /^accepted$/, sluice: /^refused$/},
      {at: 'notes.an agent', adk: /^accepted$/, sluice: /^refused$/},
      {at: 'requests[].config.tools', adk: /"name":"get_time"/},
    ],
    programs: ['changed-agent'],
  },
  {
    name: 'An `InMemoryRunner` keeps sessions only',
    why: 'Files and memories are for programs that use them: `artifactService` and `memoryService` are its options.',
    traces: [
      {at: `${EVENT}.actions.artifactDelta.note.txt`, adk: /^0$/},
      ...inResponses('version', {adk: /^0$/}),
      ...inResponses('error', {sluice: /artifactService/}),
    ],
    programs: ['in-memory-services'],
  },
];
