import {inResponses, type Meant} from './meant.ts';

const EVENT = 'events[]';
const CONTENT = 'requests[].contents[]';

/** How calls of tools are answered. */
export const inTools: readonly Meant[] = [
  {
    name: 'A tool error is told as its message',
    why: 'The message alone; for arguments that do not fit, what was wrong and what is expected, in a line.',
    traces: [
      ...inResponses('error', {adk: /^Error in tool 'get_weather': No such city\.$/, sluice: /^No such city\.$/}),
      ...inResponses('error', {adk: /^Error in tool 'get_weather': \[/, sluice: /^Invalid arguments: city: .* Expected: \{city: string/}),
    ],
    programs: ['function-tools'],
  },
  {
    name: 'A list is `result`, as everything that is no object',
    why: 'One key for one thing: `{result: value}`.',
    traces: [...inResponses('results', {adk: /^\[5\]$/}), ...inResponses('result', {sluice: /^\[5\]$/})],
    programs: ['parallel-calls'],
  },
  {
    name: 'A callback after a tool gets its response',
    why: 'An object, as the model is to be told of it: `{result: 7}` for a tool that gives 7. In ADK it gets what the tool gave.',
    traces: [
      {at: 'notes.seen[]', adk: /^count 7$/},
      {at: 'notes.seen[]', sluice: /^count \{"result":7\}$/},
      {at: 'notes.seen[]', adk: /^forget undefined$/},
      {at: 'notes.seen[]', sluice: /^forget \{"result":null\}$/},
    ],
    programs: ['callback-values'],
  },
  {
    name: 'A tool that gives nothing is `{result: null}`',
    why: 'The model is told that it has run and has nothing to say. In ADK it is `{}`.',
    traces: inResponses('result', {sluice: /^null$/}),
    programs: ['callback-values'],
  },
  {
    name: 'Calls of one reply do not see what the others write',
    why: 'They run at the same time. `ToolExecutionMode.SEQUENTIAL` runs them in order, and `onDiagnostic` is told of a conflict.',
    traces: [
      {at: `${EVENT}.actions.stateDelta.basket[]`, adk: /^tea$/},
      ...inResponses('basket[]', {adk: /^tea$/}),
      {at: 'notes.state.basket[]', adk: /^tea$/},
    ],
    programs: ['sibling-state'],
  },
  {
    name: 'Every call is answered, that of an unknown tool too',
    why: 'The other calls run, and the model is told which tools there are. ADK asks again with calls that have no answer.',
    traces: [
      {at: EVENT, adk: /"errorMessage":"Function get_date is not found/},
      {at: EVENT, sluice: /"error":"There is no tool `get_date`/},
      {at: CONTENT, sluice: /"error":"There is no tool `get_date`/},
    ],
    programs: ['unknown-tool'],
  },
  {
    name: 'A run with a call that waits ends',
    why: 'The model is asked again when the answer is there, not before; the Event of the response names the call that waits.',
    traces: [
      {at: `${EVENT}.longRunningToolIds[]`, sluice: /^call 1$/},
      {at: EVENT, adk: /I asked the manager.*"invocationId":"run 1"/},
      {at: EVENT, sluice: /I asked the manager.*"invocationId":"run 2"/},
      {at: EVENT, adk: /It is approved/},
      {at: 'requests[]', adk: /"adk_agent_name":"expenses"/},
      {at: `${CONTENT}.parts[].functionResponse.response.status`, adk: /^pending$/, sluice: /^approved$/},
      {at: `${CONTENT}.parts[].functionResponse.response.amount`, adk: /^200$/},
    ],
    programs: ['long-running'],
  },
  {
    name: 'The model reads the answer to its question',
    why: 'The call of `adk_request_input` is answered as `pending`, and then by the user. In ADK call and answer are left out of the next request.',
    traces: [
      {at: EVENT, sluice: /"name":"adk_request_input","response":\{"status":"pending"\}/},
      {at: CONTENT, sluice: /"functionCall":\{.*"name":"adk_request_input"/},
      {at: CONTENT, sluice: /"functionResponse":\{.*"name":"adk_request_input","response":\{"nights":2\}/},
    ],
    programs: ['request-input'],
  },
  {
    name: 'A call that is to be confirmed has a response too',
    why: 'So that the history is whole, and the results of other calls are kept; it says `pending` until the user has decided. The Event that asks has `longRunningToolIds` to say so, and no `skipSummarization`.',
    traces: [
      {at: EVENT, sluice: /"requestedToolConfirmations":\{"call \d".*"response":\{"status":"pending"\}/},
      {at: `${EVENT}.actions.requestedToolConfirmations.call 2`, adk: /"hint":/},
      {at: `${EVENT}.actions.requestedToolConfirmations.call 4`, adk: /"hint":/},
      {at: `${EVENT}.actions.skipSummarization`, adk: /^true$/},
      {at: `${EVENT}.content.role`, adk: /^user$/, sluice: /^model$/},
      {
        at: `${EVENT}.content.parts[].functionCall.args.toolConfirmation.hint`,
        adk: /^Please approve/,
        sluice: /^Confirm the call of pay\.$/,
      },
      ...inResponses('error', {adk: /^This tool call is rejected\.$/, sluice: /^The user refused this call$/}),
    ],
    programs: ['confirmation'],
  },
  {
    name: 'Only `false` lets a call run unasked',
    why: 'A `requireConfirmation` that forgets its `return`, or gives `null`, has the user asked. In ADK the call runs.',
    traces: [
      {at: EVENT, sluice: /"name":"adk_request_confirmation"/},
      {at: `${EVENT}.actions.requestedToolConfirmations.call 1`, sluice: /"hint":/},
      {at: `${EVENT}.content.parts[].functionResponse.response.status`, adk: /^paid$/, sluice: /^pending$/},
      {at: `${EVENT}.longRunningToolIds[]`, sluice: /^call 1$/},
      {at: EVENT, adk: /"text":"Paid\."/},
      {at: 'requests[]', adk: /"response":\{"status":"paid"\}/},
      {at: 'notes.paid', adk: /^1$/, sluice: /^0$/},
    ],
    programs: ['unsure-confirmation'],
  },
  {
    name: '`skipSummarization` of an `AgentTool` ends the run',
    why: "The agent's answer is the last word, as the option says. In ADK the model is asked about it all the same.",
    traces: [
      {at: `${EVENT}.actions.skipSummarization`, sluice: /^true$/},
      {at: EVENT, adk: /It is Bonjour/},
      {at: 'requests[]', adk: /Use your tools/},
    ],
    programs: ['agent-tool-last-word'],
  },
  {
    name: '`temp:` keys come back from an `AgentTool`',
    why: 'They live as long as the run, and that of the agent is a part of it.',
    traces: [{at: `${EVENT}.actions.stateDelta.temp:draft`, sluice: /^Bonjour\.$/}],
    programs: ['agent-tool-last-word'],
  },
  {
    name: 'An `AgentTool` runs in a session of its own for each call',
    why: 'The second call does not see what the first one said.',
    traces: [
      {at: CONTENT, adk: /^\{"parts":\[\{"text":"Hello\."\}\],"role":"user"\}$/},
      {at: CONTENT, adk: /^\{"parts":\[\{"text":"Bonjour\."\}\],"role":"model"\}$/},
    ],
    programs: ['agent-tool-twice'],
  },
];
