import {describe, expect, test} from 'vitest';
import {InvalidOptionError, LiveRequestQueue, StreamingMode, stringifyContent} from 'sluice';
import {collect, deltas, functionCalls, text} from 'sluice/testing';
import {LoopAgent} from '../../../lib/agents/workflow/loop-agent.ts';
import {ParallelAgent} from '../../../lib/agents/workflow/parallel-agent.ts';
import {SequentialAgent} from '../../../lib/agents/workflow/sequential-agent.ts';
import {expectNoListeners} from '../../stories/kit.ts';
import {ask, expectPaired, Gated, leave, Own, speaker, stageOf, told, tool} from './kit.ts';

describe('a SequentialAgent', () => {
  test('runs its agents in order, each over what those before have said and written', async () => {
    const writer = speaker('writer', [functionCalls({name: 'look'}), 'A draft.'], [tool('look')], {outputKey: 'draft'});
    const editor = speaker('editor', ['Shorter.'], [], {instruction: 'Shorten: {draft}'});
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [writer, editor]}));

    const {events, outcome} = await collect(it.run('Write.'));

    expect(events.map(told)).toEqual(['writer: look({})', 'writer: look={"name":"look"}', 'writer: "A draft."', 'editor: "Shorter."']);
    expect(outcome).toMatchObject({kind: 'done', llmCalls: 3, lastEventId: events[3]?.id});
    expect((await it.stored()).map(told)).toEqual(['user: "Write."', ...events.map(told)]);
    expect(editor.model.requests[0]?.config.systemInstruction).toContain('Shorten: A draft.');
    expect(JSON.stringify(editor.model.requests[0]?.contents)).toContain('[writer] said: A draft.');
  });

  test('shows what its agents stream', async () => {
    const it = await stageOf(
      new SequentialAgent({name: 'desk', subAgents: [speaker('a', [deltas('A', '1')]), speaker('b', [deltas('B', '2')])]}),
      {
        streamingMode: StreamingMode.SSE,
      },
    );

    expect((await collect(it.run())).events.map(told)).toEqual([
      'a: "A" [partial]',
      'a: "1" [partial]',
      'a: "A1"',
      'b: "B" [partial]',
      'b: "2" [partial]',
      'b: "B2"',
    ]);
  });

  test('ends where an agent waits', async () => {
    const b = speaker('b', ['B']);
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [speaker('a', [functionCalls({name: 'ask'})], [ask()]), b]}));

    const {events, outcome} = await collect(it.run());

    expect(events.map(told)).toEqual(['a: ask({}) [waits:1]', 'a: ask={"status":"pending"} [waits:1]']);
    expect([outcome.kind, b.model.calls]).toEqual(['waiting', 0]);
  });

  test('ends where an agent waits, also where a callback speaks after it', async () => {
    const afterAgentCallback = () => ({role: 'model', parts: [{text: 'Please answer.'}]});
    const b = speaker('b', ['B']);
    const it = await stageOf(
      new SequentialAgent({
        name: 'desk',
        subAgents: [speaker('a', [functionCalls({name: 'ask', id: 'x'})], [ask()], {afterAgentCallback}), b],
      }),
    );

    const {events, outcome} = await collect(it.run());

    expect(events.map(told).slice(2)).toEqual(['a: "Please answer." [waits:1]']);
    expect(events.at(-1)?.longRunningToolIds).toEqual(['x']);
    expect([outcome.kind, b.model.calls]).toEqual(['waiting', 0]);
  });

  test('ends where a reply cannot be used', async () => {
    const b = speaker('b', ['B']);
    const cut = {...text('Half a dra'), finishReason: 'MAX_TOKENS'};
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [speaker('a', [cut], [], {outputKey: 'draft'}), b]}));

    const {events, outcome} = await collect(it.run());

    expect(events.map(told)).toEqual(['a: "Half a dra" [error:MAX_TOKENS]']);
    expect(outcome).toMatchObject({kind: 'done', errorCode: 'MAX_TOKENS', llmCalls: 1});
  });

  test('goes on after an escalation, and passes it on to the loop above', async () => {
    const agents = [speaker('a', [functionCalls({name: 'leave'})], [leave()]), speaker('b', ['B'])];
    const it = await stageOf(new LoopAgent({name: 'loop', subAgents: [new SequentialAgent({name: 'desk', subAgents: agents})]}));

    expect((await collect(it.run())).events.map(told)).toEqual(['a: leave({})', 'a: leave={"left":true} [escalates]', 'b: "B"']);
  });

  test('ends with the error of an agent', async () => {
    const b = speaker('b', ['B']);
    const failure = new TypeError('of its own');
    const failing = new Own('a', async function* () {
      yield this.says('Here it comes.');
      throw failure;
    });
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [failing, b]}));

    const {events, error, outcome} = await collect(it.run());

    expect([events.map(told), error, outcome.kind, b.model.calls]).toEqual([['a: "Here it comes."'], failure, 'error', 0]);
  });

  test('starts no agent after its reader has left', async () => {
    const b = speaker('b', ['B']);
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [speaker('a', ['A']), b]}));

    for await (const event of it.run()) if (stringifyContent(event) === 'A') break;

    expect((await it.stored()).map(told)).toEqual(['user: "go"', 'a: "A"']);
    expect(b.model.calls).toBe(0);
  });

  test('stops the agent that runs: its tool is told, its calls are answered, the next does not start', async () => {
    const stop = new AbortController();
    const slow = new Gated('slow');
    const b = speaker('b', ['B']);
    const it = await stageOf(new SequentialAgent({name: 'desk', subAgents: [speaker('a', [functionCalls({name: 'slow'})], [slow]), b]}));
    const read = collect(it.run('go', {abortSignal: stop.signal}));
    await slow.started;
    stop.abort('enough');

    expect(await read).toMatchObject({error: 'enough', outcome: {kind: 'abort', abandoned: []}});
    expect((await it.stored()).map(told).at(-1)).toBe('a: slow={"error":"cancelled; it may have taken effect","started":true}');
    expectPaired(await it.stored());
    expectNoListeners(stop.signal);
    expect(b.model.calls).toBe(0);
  });

  test('does nothing where it has no agents', async () => {
    for (const agent of [SequentialAgent, LoopAgent, ParallelAgent].map((Agent) => new Agent({name: 'none'}))) {
      expect(await collect((await stageOf(agent)).run())).toMatchObject({events: [], outcome: {kind: 'done'}});
    }
  });

  test('passes on to the runner what is no Event, which says whose fault it is', async () => {
    for (const junk of [undefined, 7, {}, {actions: {}}, {id: 'x', actions: {stateDelta: {}}, content: {parts: 'text'}}]) {
      const broken = (): Own =>
        new Own('broken', async function* () {
          yield junk as never;
        });
      for (const Agent of [SequentialAgent, LoopAgent, ParallelAgent]) {
        const {error} = await collect((await stageOf(new Agent({name: 'outer', subAgents: [broken()]}))).run());
        expect([Agent.name, error]).toEqual([Agent.name, expect.any(InvalidOptionError)]);
      }
    }
  });
});

describe('a workflow agent', () => {
  const agents = {SequentialAgent, LoopAgent, ParallelAgent};

  for (const [kind, Agent] of Object.entries(agents)) {
    test(`says that it cannot talk live, as a ${kind}`, async () => {
      const it = await stageOf(new Agent({name: 'outer', subAgents: [speaker('a', ['A'])]}));

      const {error} = await collect(it.runner.runLive({userId: 'u', sessionId: 's', liveRequestQueue: new LiveRequestQueue()}));

      expect(String(error)).toBe(
        `InvalidOptionError: Expected \`runner.agent\` to be an agent that can talk live, such as an LlmAgent; \`outer\` runs others, got an object (${kind})`,
      );
    });

    test(`refuses a tree that is none, as a ${kind}`, () => {
      const shared = speaker('shared', []);
      const owner = new Agent({name: 'owner', subAgents: [shared]});
      const refusal = (subAgents: unknown): string => {
        try {
          return String(new Agent({name: 'outer', subAgents: subAgents as []}));
        } catch (error) {
          return (error as Error).message;
        }
      };

      expect(refusal([shared])).toContain('Expected `outer.subAgents` to be agents without a parent (`shared` is below `owner`)');
      expect(refusal([speaker('twin', []), speaker('twin', [])])).toContain('a tree without two agents of one name');
      expect(refusal([speaker('outer', [])])).toContain('a tree without two agents of one name');
      expect(refusal([owner, new Agent({name: 'other', subAgents: [speaker('shared', [])]})])).toContain(
        'a tree without two agents of one name',
      );
      expect(refusal(speaker('a', []))).toContain('Expected `outer.subAgents` to be an array of agents');
      expect(refusal(['a'])).toContain('Expected `outer.subAgents` to be an array of agents');
      expect(() => new Agent({name: 'not an identifier'})).toThrow(InvalidOptionError);
    });

    test(`runs its callbacks around its agents, as a ${kind}`, async () => {
      const seen: string[] = [];
      const note = (what: string) => (): void => void seen.push(what);
      const inner = speaker('a', ['A'], [], {beforeAgentCallback: note('before a'), afterAgentCallback: note('after a')});
      const outer = new Agent({
        name: 'outer',
        subAgents: [inner],
        beforeAgentCallback: note('before outer'),
        afterAgentCallback: note('after outer'),
        ...(kind === 'LoopAgent' && {maxIterations: 1}),
      });

      await collect((await stageOf(outer)).run());

      expect(seen).toEqual(['before outer', 'before a', 'after a', 'after outer']);
    });
  }
});

describe('an agent of the user’s own', () => {
  test('runs its sub-agents as it likes', async () => {
    const judge = speaker('judge', ['left']);
    const router = new Own(
      'router',
      async function* (context) {
        let verdict = '';
        for await (const event of this.subAgents[0]?.runAsync(context) ?? []) {
          verdict = stringifyContent(event);
          yield event;
        }
        const chosen = this.findSubAgent(verdict);
        if (chosen) yield* chosen.runAsync(context);
        yield this.says(`Went ${verdict}.`);
      },
      [judge, speaker('left', ['L']), speaker('right', ['R'])],
    );
    const it = await stageOf(router);

    expect((await collect(it.run())).events.map(told)).toEqual(['judge: "left"', 'left: "L"', 'router: "Went left."']);
  });
});
