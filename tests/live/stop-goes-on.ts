/** The session after a stop: one that every model takes. */
import {expect} from 'vitest';
import {LiveRequestQueue, LlmAgent, Runner, type BaseSessionService, type Content, type Event, type Part} from 'sluice';
import {collect, ScriptedLlm} from 'sluice/testing';
import {expectValidLive} from './kit.ts';
import type {Scene} from './stop-scene.ts';

/** Another run goes on where the stopped one has ended: one of a model without a live connection, and one with. */
export async function expectGoesOn(scene: Scene, {live}: {readonly live: boolean}): Promise<void> {
  await expectTurn(scene);
  if (live) await expectLive(scene);
  expectValidLive(await scene.stored());
}

export async function expectTurn({store}: {readonly store: BaseSessionService}): Promise<void> {
  const key = {userId: 'u', sessionId: 's'};
  const before = (await store.getSession({appName: 'app', ...key}))?.events ?? [];
  const model = new ScriptedLlm({steps: ['again']});
  const runner = new Runner({appName: 'app', agent: new LlmAgent({name: 'root', model}), sessionService: store});
  const {outcome} = await collect(runner.runAsync({...key, newMessage: {role: 'user', parts: [{text: 'and then?'}]}}));
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
  const contents = model.requests[0]?.contents ?? [];
  expectPaired(contents);
  expect(textsOf(contents)).toEqual([...before.flatMap(said), 'and then?']);
}

async function expectLive(scene: Scene): Promise<void> {
  const {server} = scene;
  const at = server.sessions.length;
  server.session(async (session) => {
    await session.acknowledge();
    // What was said before comes as a turn that is not complete.
    while (!(await session.next('clientContent')).payload['turnComplete']);
    session.say('here I am');
    session.completeTurn();
  });
  const liveRequestQueue = new LiveRequestQueue();
  void liveRequestQueue.sendContent({role: 'user', parts: [{text: 'are you there?'}]});
  liveRequestQueue.close();
  const {outcome} = await collect(scene.start({liveRequestQueue, abortSignal: undefined}));
  expect(outcome).toMatchObject({kind: 'done', llmCalls: 1});
  expect(server.sessions.slice(at).flatMap(({refusal}) => refusal ?? [])).toEqual([]);
}

/** What a model refuses otherwise: each content of calls is followed by one with the response to each, in order. */
function expectPaired(contents: readonly Content[]): void {
  contents.forEach(({parts = []}, at) => {
    const calls = parts.flatMap(({functionCall}) => functionCall?.id ?? []);
    const next = contents[at + 1]?.parts ?? [];
    if (calls.length > 0) expect(next.map(({functionResponse}) => functionResponse?.id)).toEqual(calls);
    const responses = parts.filter(({functionResponse}) => functionResponse);
    const before = contents[at - 1]?.parts?.filter(({functionCall}) => functionCall) ?? [];
    expect(responses).toHaveLength(responses.length > 0 ? before.length : 0);
  });
  expect(contents.at(-1)?.role).toBe('user');
}

/** What an Event says, also what was said aloud; of what another agent says the model is told. */
function said({author, content, inputTranscription, outputTranscription}: Event): string[] {
  const spoken = outputTranscription?.text ?? inputTranscription?.text;
  const texts = [...(spoken ? [spoken] : []), ...(content?.parts ?? []).flatMap(textOf)];
  return author === 'user' || author === 'root' ? texts : texts.map((text) => `[${author}] said: ${text}`);
}

/** All that is said in it, but for what other agents have called. */
function textsOf(contents: readonly Content[]): string[] {
  const texts = contents.flatMap(({parts = []}) => parts.flatMap(textOf));
  return texts.filter((text) => !/^(Continue\.$|\[\w+\] (called tool|got from) )/.test(text));
}

function textOf({text}: Part): string[] {
  return text ? [text] : [];
}
