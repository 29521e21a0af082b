// Recorded conversations, had again: the users, the servers and the tools say what was recorded, and Sluice sends what the recorded client
// sent, but for the differences that `conversation-differences.ts` names.
import {describe, expect, test} from 'vitest';
import {BaseTool, createEvent, InMemoryRunner, LlmAgent, StreamingMode, type Content, type Part, type RunAsyncToolRequest} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {collect, GeminiServer, raw} from 'sluice/testing';
import {bodyOf, headersOf} from '../gemini/recordings.ts';
import {expectValid} from '../stories/kit.ts';
import {differences, differencesIn, isEmptyMessage, SAYS_SOMETHING} from './conversation-differences.ts';
import {loadConversations, usesTools, type Conversation} from './conversations.ts';

const conversations = loadConversations();
const named = conversations.map((conversation) => [conversation.name, conversation] as const);

describe.skipIf(conversations.length === 0)('a recorded conversation had again sends the same contents:', () => {
  test.each(named)('%s', async (_, conversation) => {
    const wanted = rewritten(conversation);
    const {sent, refused} = await have(conversation);
    expect(sent).toEqual(wanted);
    expect(refused).toEqual([]);
  });

  test('so many are the same to the last field, and the table names none that is not there', () => {
    const withTools = conversations.filter(usesTools);
    const asTheyAre = (list: readonly Conversation[]): number => list.filter((it) => differencesIn(it).length === 0).length;
    expect({
      all: conversations.length,
      asTheyAre: asTheyAre(conversations),
      withTools: withTools.length,
      withToolsAsTheyAre: asTheyAre(withTools),
    }).toEqual({all: 51, asTheyAre: 17, withTools: 40, withToolsAsTheyAre: 13});
    const names = new Set(conversations.map(({name}) => name));
    expect(Object.values(differences).flatMap((difference) => difference.conversations.filter((name) => !names.has(name)))).toEqual([]);
  });
});

/** The requests as Sluice sends them. Each difference that a conversation is said to have must be there. */
function rewritten(conversation: Conversation): readonly (readonly Content[])[] {
  let requests = conversation.requests;
  for (const difference of differencesIn(conversation)) {
    const before = requests;
    requests = requests.map((contents) => difference.rewrite(contents, conversation));
    expect(requests).not.toEqual(before);
  }
  return requests;
}

/** Gives what the tool of that name gave, call by call. What follows a call whose result was not recorded was not recorded either. */
class RecordedTool extends BaseTool {
  readonly #results: Part[];

  constructor(name: string, results: readonly Part[], isLongRunning: boolean) {
    super({name, description: 'Gives what was recorded.', isLongRunning});
    this.#results = [...results];
  }

  override async runAsync({toolContext}: RunAsyncToolRequest): Promise<unknown> {
    const {response, parts} = this.#results.shift()?.functionResponse ?? {};
    if (response === undefined) toolContext.actions.skipSummarization = true;
    return parts?.[0] ?? response;
  }
}

/** Has a conversation, and gives the contents of every request, and what Google would have refused. */
async function have(conversation: Conversation): Promise<{sent: readonly unknown[]; refused: readonly string[]}> {
  const {before, messages, exchanges} = conversation;
  await using server = await GeminiServer.start({replies: exchanges.map((it) => raw(bodyOf(it), {headers: headersOf(it)}))});
  const runner = new InMemoryRunner({agent: agentOf(conversation, server.url), appName: 'app'});
  const session = await runner.sessionService.createSession({appName: 'app', userId: 'u', sessionId: 's'});
  for (const content of before) {
    await runner.sessionService.appendEvent({session, event: createEvent({author: content.role === 'model' ? 'root' : 'user', content})});
  }
  const streamingMode = exchanges[0]?.api === 'streamGenerateContent' ? StreamingMode.SSE : StreamingMode.NONE;
  for (const message of messages) {
    const newMessage = isEmptyMessage(message) ? SAYS_SOMETHING : message;
    const {error} = await collect(runner.runAsync({userId: 'u', sessionId: 's', newMessage, runConfig: {streamingMode}}));
    if (error !== undefined) throw error;
  }
  if (before.length === 0)
    expectValid((await runner.sessionService.getSession({appName: 'app', userId: 'u', sessionId: 's'}))?.events ?? []);
  return {sent: server.requests.map(({body}) => body.contents), refused: server.requests.flatMap(({refusal}) => refusal ?? [])};
}

function agentOf(conversation: Conversation, baseUrl: string): LlmAgent {
  const [first] = conversation.exchanges;
  const model = new Gemini({
    model: first?.model ?? 'gemini-2.5-flash',
    apiKey: 'k',
    vertexai: first?.backend === 'vertex',
    attempts: 1,
    httpOptions: {baseUrl},
  });
  const names = new Set(conversation.exchanges.flatMap((it) => it.expect.calls.map(({name}) => name)));
  const waits = differencesIn(conversation).includes(differences['noResponse']!);
  return new LlmAgent({
    name: 'root',
    model,
    tools: [...names].map((name) => new RecordedTool(name, conversation.results.get(name) ?? [], waits)),
  });
}
