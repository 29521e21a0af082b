// The stories of a run on an engine that crashes after every step, and has only its records to go on from: whoever reads the run, looks into
// the session, answers as the model or is called as a tool must not notice.
import {describe, expect, test, vi} from 'vitest';
import {
  BaseAgent,
  BaseToolset,
  createEvent,
  FunctionTool,
  LlmAgent,
  LongRunningFunctionTool,
  StreamingMode,
  ToolExecutionMode,
  type BaseTool,
  type Content,
  type Context,
  type Event,
  type InvocationContext,
  type Run,
} from 'sluice';
import {deltas, functionCalls, hang, ScriptedLlm, text} from 'sluice/testing';
import {z} from 'zod';
import {idle, type Stage} from './kit.ts';
import {readAll, tellTwice, type Log, type Story} from './replay-kit.ts';

const usage = {usageMetadata: {promptTokenCount: 3, candidatesTokenCount: 2, totalTokenCount: 5}};

/** Notes its arguments and gives them back. */
const echo = (log: Log, name = 'echo') =>
  new FunctionTool({
    name,
    description: 'Says it again.',
    parameters: z.object({say: z.string()}),
    execute: async ({say}) => {
      log.push(`${name} ${say}`);
      await idle();
      return say;
    },
  });

const answerTo = (id: string, response: object): {newMessage: Content} => ({
  newMessage: {role: 'user', parts: [{functionResponse: {id, response: {...response}}}]},
});

const stories: Record<string, (log: Log) => Story> = {
  'one reply': () => ({steps: [{...text('hello'), ...usage}]}),

  'a reply in pieces': () => ({steps: [deltas('Good ', 'day', '!')], runConfig: {streamingMode: StreamingMode.SSE}}),

  'two rounds of tools, streamed, with usage': (log) => ({
    steps: [
      [
        {partial: true, content: {role: 'model', parts: [{text: 'Let me see.'}]}},
        {...functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'echo', args: {say: 'b'}}), ...usage},
      ],
      {...functionCalls({name: 'echo', args: {say: 'c'}}), ...usage},
      {...text('done'), ...usage},
    ],
    agent: {tools: [echo(log)]},
    runConfig: {streamingMode: StreamingMode.SSE},
  }),

  'calls that end in another order': (log) => ({
    steps: [functionCalls(...[3, 1, 2].map((turns) => ({name: 'wait', args: {turns}}))), 'done'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'wait',
          description: 'Waits.',
          parameters: z.object({turns: z.number()}),
          execute: async ({turns}) => {
            for (let turn = 0; turn < turns * 3; turn++) await idle();
            log.push(`waited ${turns}`);
            return turns;
          },
        }),
      ],
    },
  }),

  'calls one by one, each of which sees what those before wrote': (log) => ({
    steps: [functionCalls({name: 'count'}, {name: 'count'}, {name: 'count'}), 'done'],
    agent: {tools: [counter(log, false)]},
    runConfig: {toolExecutionMode: ToolExecutionMode.SEQUENTIAL},
  }),

  'an exclusive call between others': (log) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'count'}, {name: 'echo', args: {say: 'b'}}, {name: 'count'}), 'done'],
    agent: {tools: [echo(log), counter(log, true)]},
  }),

  'more calls than may run at a time': (log) => ({
    steps: [functionCalls(...Array.from({length: 7}, (_, n) => ({name: 'echo', args: {say: `${n}`}}))), 'done'],
    agent: {tools: [echo(log)]},
    runConfig: {maxConcurrentTools: 2},
  }),

  'a body that shows its progress': (log) => ({
    steps: [functionCalls({name: 'climb'}, {name: 'echo', args: {say: 'beside'}}), 'done'],
    agent: {
      tools: [
        echo(log),
        new FunctionTool({
          name: 'climb',
          description: 'Climbs.',
          async *execute() {
            for (const step of [1, 2, 3]) {
              log.push(`step ${step}`);
              yield {step};
            }
            return 'up';
          },
        }),
      ],
    },
  }),

  'calls that cannot be run': (log) => ({
    steps: [functionCalls({name: 'nobody'}, {name: 'echo', args: {say: 7}}, {name: 'fails'}, {name: 'echo', args: {say: 'fine'}}), 'done'],
    agent: {
      tools: [
        echo(log),
        new FunctionTool({
          name: 'fails',
          description: 'Fails.',
          execute: () => {
            log.push('fails');
            throw new TypeError('of its own');
          },
        }),
      ],
    },
  }),

  'odd results': () => ({
    steps: [functionCalls(...ODD.map((_, n) => ({name: `odd${n}`}))), 'done'],
    agent: {tools: ODD.map((value, n) => new FunctionTool({name: `odd${n}`, description: 'Is odd.', execute: () => value}))},
  }),

  'ids that a model repeats, and none': (log) => ({
    steps: [
      functionCalls(
        {id: 'c1', name: 'echo', args: {say: 'a'}},
        {id: 'c1', name: 'echo', args: {say: 'b'}},
        {name: 'echo', args: {say: 'c'}},
      ),
      functionCalls({id: 'c1', name: 'echo', args: {say: 'd'}}),
      'done',
    ],
    agent: {tools: [echo(log)]},
  }),

  'state that siblings write, with a conflict': (log) => ({
    steps: [
      functionCalls({name: 'write', args: {n: 1}}, {name: 'write', args: {n: 2}}),
      functionCalls({name: 'write', args: {n: 3}}),
      'done',
    ],
    agent: {
      tools: [
        new FunctionTool({
          name: 'write',
          description: 'Writes.',
          parameters: z.object({n: z.number()}),
          execute: ({n}, {state}) => {
            log.push(JSON.stringify([state.get('last'), state.get('temp:note')]));
            state.set('last', n);
            state.set(`user:n${n}`, n);
            state.set('temp:note', n);
          },
        }),
      ],
    },
    says: [{newMessage: {role: 'user', parts: [{text: 'write'}]}, stateDelta: {last: 0, 'temp:note': 'given', 'app:of': 'all'}}],
  }),

  'an instruction from the state, and the output into it': (log) => ({
    steps: ['one', 'two', 'three'],
    agent: {instruction: 'You said {said?}.', outputKey: 'said', generateContentConfig: {temperature: 0}},
    says: ['a', 'b', 'c'],
    read: readAndLog(log),
  }),

  'an instruction function, and a callback that shapes the request': (log) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}), 'done'],
    agent: {
      tools: [echo(log)],
      instruction: ({state}) => {
        log.push('instruction');
        return `State: ${JSON.stringify(state.toRecord())}`;
      },
      beforeModelCallback: ({request}) => {
        log.push('beforeModel');
        request.contents.push({role: 'user', parts: [{text: 'And be brief.'}]});
        return undefined;
      },
    },
  }),

  'only the current turn': (log) => ({
    steps: ['first', functionCalls({name: 'echo', args: {say: 'a'}}), 'second'],
    agent: {includeContents: 'none', tools: [echo(log)]},
    says: ['one', 'two'],
  }),

  'every callback': (log) => ({
    steps: [
      functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'echo', args: {say: 'skip'}}, {name: 'echo', args: {say: 1}}),
      new Error('down'),
      'unused',
    ],
    agent: {
      tools: [echo(log)],
      beforeAgentCallback: ({state}) => {
        log.push('beforeAgent');
        state.set('began', true);
        return undefined;
      },
      afterAgentCallback: ({state}) => {
        log.push('afterAgent');
        state.set('ended', true);
        return {role: 'model', parts: [{text: 'That is all.'}]};
      },
      beforeModelCallback: ({context}) => {
        log.push('beforeModel');
        context.state.set('asked', true);
        return undefined;
      },
      afterModelCallback: ({response}) => {
        log.push('afterModel');
        return {...response, customMetadata: {seen: true}};
      },
      onModelErrorCallback: ({error}) => {
        log.push(`modelError ${error.message}`);
        return text('instead');
      },
      beforeToolCallback: ({args, context}) => {
        log.push(`beforeTool ${JSON.stringify(args)}`);
        context.state.set('tool', args['say']);
        return args['say'] === 'skip' ? {skipped: true} : undefined;
      },
      afterToolCallback: ({response}) => {
        log.push('afterTool');
        return {...response, checked: true};
      },
      onToolErrorCallback: () => {
        log.push('toolError');
        return {from: 'onToolError'};
      },
    },
  }),

  'a callback that answers for the agent': (log) => ({
    steps: ['unused'],
    agent: {
      beforeAgentCallback: () => {
        log.push('beforeAgent');
        return {role: 'model', parts: [{text: 'Closed.'}]};
      },
    },
  }),

  'a callback that answers for the model': (log) => ({
    steps: ['unused'],
    agent: {
      beforeModelCallback: () => {
        log.push('beforeModel');
        return text('cached');
      },
    },
  }),

  'a callback that throws': (log) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'echo', args: {say: 'b'}})],
    agent: {
      tools: [echo(log)],
      afterToolCallback: ({args}) => {
        if (args['say'] === 'b') throw THROWN;
        return undefined;
      },
    },
  }),

  'a model that fails': (log) => ({steps: [functionCalls({name: 'echo', args: {say: 'a'}}), THROWN], agent: {tools: [echo(log)]}}),

  'a model that fails in the middle of a reply': () => ({
    steps: [
      async function* () {
        yield {...deltas('half')[0]!, ...usage};
        throw THROWN;
      },
    ],
    runConfig: {streamingMode: StreamingMode.SSE},
  }),

  'a limit on model calls': (log) => ({
    steps: Array.from({length: 5}, (_, n) => ({...functionCalls({name: 'echo', args: {say: `${n}`}}), ...usage})),
    agent: {tools: [echo(log)]},
    runConfig: {maxLlmCalls: 3},
  }),

  'replies that are asked again': () => ({
    steps: [
      {...text(''), ...usage},
      {finishReason: 'MALFORMED_FUNCTION_CALL', ...usage},
      {...text('well'), ...usage},
    ],
  }),

  'a reply that says nothing, whatever is asked': () => ({steps: [text(''), text(''), text('')]}),

  'calls of a reply that was cut': (log) => ({
    steps: [{...functionCalls({name: 'echo', args: {say: 'a'}}), finishReason: 'MAX_TOKENS', ...usage}, 'so be it'],
    agent: {tools: [echo(log)]},
    says: ['go', 'and?'],
  }),

  'a call that waits, and its answer': (log) => ({
    steps: [
      functionCalls({id: 'w1', name: 'order'}, {id: 'e1', name: 'echo', args: {say: 'a'}}, {id: 'w2', name: 'order'}),
      'all there',
      'you are welcome',
    ],
    agent: {
      tools: [
        echo(log),
        new LongRunningFunctionTool({
          name: 'order',
          description: 'Orders.',
          execute: () => {
            log.push('order');
            return {ticket: 7};
          },
        }),
      ],
    },
    says: ['order', answerTo('w2', {came: 2}), answerTo('w1', {came: 1}), 'thanks', answerTo('w1', {came: 'again'})],
  }),

  'a user who speaks instead of answering': (log) => ({
    steps: [functionCalls({id: 'w1', name: 'order'}), 'still waiting', 'there it is'],
    agent: {tools: [new LongRunningFunctionTool({name: 'order', description: 'Orders.', execute: () => void log.push('order')})]},
    says: ['order', 'where is it?', answerTo('w1', {came: true})],
  }),

  'a tool with the last word': () => ({
    steps: [functionCalls({name: 'last'}), 'unused'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'last',
          description: 'Has the last word.',
          execute: (_args, {actions}) => {
            actions.skipSummarization = true;
            return 'that is all';
          },
        }),
      ],
    },
  }),

  'a toolset, listed for every step': (log) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}), functionCalls({name: 'echo', args: {say: 'b'}}), 'done'],
    agent: {tools: [new Listed(log)]},
  }),

  "an agent of the user's own, over two others": (log) => ({
    runner: {agent: new Both(log)},
  }),

  'a session that is not there': () => ({
    steps: ['unused'],
    says: [{sessionId: 'none', newMessage: {role: 'user', parts: [{text: 'go'}]}}],
  }),

  'a session that is made': () => ({
    steps: ['made'],
    runner: {autoCreateSession: true},
    says: [{sessionId: 'new', newMessage: {role: 'user', parts: [{text: 'go'}]}}],
  }),
};

const THROWN = new RangeError('of its own');

const ODD = [
  undefined,
  null,
  7n,
  new Date(0),
  new Map([['a', 1]]),
  new Uint8Array([1, 2]),
  Number.NaN,
  [1, undefined],
  new Error('as a value'),
  {inlineData: {mimeType: 'image/png', data: 'aGk='}},
];

function counter(log: Log, exclusive: boolean): FunctionTool {
  return new FunctionTool({
    name: 'count',
    description: 'Counts.',
    exclusive,
    execute: (_args, {state}) => {
      state.set('n', state.get('n', 0) + 1);
      log.push(`count ${state.get('n', 0)}`);
      return state.get('n');
    },
  });
}

function readAndLog(log: Log): NonNullable<Story['read']> {
  return async (run, told) => {
    for await (const event of run) {
      told.events.push(event);
      log.push(`read ${event.content?.parts?.[0]?.text}`);
    }
  };
}

class Listed extends BaseToolset {
  readonly #log: Log;

  constructor(log: Log) {
    super();
    this.#log = log;
  }

  override async getTools(_context?: Context): Promise<BaseTool[]> {
    return [echo(this.#log)];
  }

  override async close(): Promise<void> {}
}

/** Lets two agents speak, one after the other, with a word of its own between. */
class Both extends BaseAgent {
  constructor(log: Log) {
    const agent = (name: string): LlmAgent => {
      const model = new ScriptedLlm({steps: [functionCalls({name: 'echo', args: {say: name}}), `${name} is done`]});
      return new LlmAgent({name, model, tools: [echo(log)]});
    };
    super({name: 'both', subAgents: [agent('left'), agent('right')]});
  }

  protected override async *runAsyncImpl(context: InvocationContext): AsyncGenerator<Event, void, undefined> {
    const {invocationId} = context;
    for (const agent of this.subAgents) {
      yield* agent.runAsync(context);
      // Its own between steps: an id or a time that is new each time would be another Event at each replay.
      yield createEvent({
        id: `after ${agent.name}`,
        timestamp: 0,
        author: this.name,
        invocationId,
        content: {role: 'model', parts: [{text: 'next'}]},
      });
    }
  }
}

describe('on an engine that crashes after every step', () => {
  test.each(Object.keys(stories))('the story is the same: %s', async (name) => {
    const {told, engine} = await tellTwice(stories[name]!);
    // Each step has a crash behind it, and so has a fan-out, in place of the steps in it.
    const inFanOuts = engine.recorded.filter((step) => step.startsWith('tool ')).length;
    expect(engine.attempts).toBe(engine.recorded.length - inFanOuts + told.outcomes.length);
  });
});

/** A stop that a reader makes at some point of a run, and after which nothing crashes any more. */
class Stop {
  readonly controller: AbortController = new AbortController();
  #made = false;
  readonly isMade = (): boolean => this.#made;

  /** Reads so many Events, waits until the next one is on its way where `pending`, and stops. */
  after(count: number, kind: StopKind, pending?: () => boolean): Story['read'] & object {
    return async (run, told, it) => {
      for (let n = 0; n < count; n++) {
        const {value} = await run.next();
        if (value) told.events.push(value);
      }
      const next = pending ? run.next() : undefined;
      const told_next = next?.then(
        ({done}) => void told.log.push(`next() is ${done ? 'done' : 'an event'}`),
        (error: unknown) => void told.errors.push(error),
      );
      if (pending) await vi.waitUntil(pending);
      await idle();
      this.#made = true;
      await kind(run, it, this.controller);
      await told_next;
      await readAll(run, told);
    };
  }
}

type StopKind = (run: Run, it: Stage, controller: AbortController) => Promise<unknown>;

const kinds: Record<string, StopKind> = {
  abort: async (_run, _it, controller) => controller.abort(THROWN),
  'return()': (run) => run.return(),
  'throw()': (run) => run.throw(THROWN).catch(() => {}),
  'cancel()': (_run, it) => it.runner.cancel({userId: 'u', sessionId: 's'}),
  'close()': (_run, it) => it.runner.close({timeoutMs: 0}),
};

const usageSoFar = {promptTokenCount: 3, totalTokenCount: 3};

/** Waits until its signal fires; then gives what it is told to, or throws. */
const patient = (log: Log, name: string, value?: unknown) =>
  new FunctionTool({
    name,
    description: 'Waits for its signal.',
    execute: (_args, {abortSignal, state}) => {
      log.push(`${name} started`);
      state.set(name, 'started');
      return new Promise((resolve, reject) => {
        abortSignal.addEventListener('abort', () => (value === undefined ? reject(abortSignal.reason as Error) : resolve(value)));
      });
    },
  });

const stops: Record<string, (log: Log, stop: Stop, kind: StopKind) => Story> = {
  'while the model is asked, after a round of tools': (log, stop, kind) => {
    const asked: number[] = [];
    return {
      steps: [{...functionCalls({name: 'echo', args: {say: 'a'}}), ...usage}, (_request, {index}) => (asked.push(index), hang())],
      agent: {
        tools: [echo(log)],
        afterAgentCallback: ({state}) => {
          state.set('ended', log.push('afterAgent'));
          return undefined;
        },
      },
      read: stop.after(2, kind, () => asked.length === 1),
    };
  },

  'in the middle of a reply': (_log, stop, kind) => {
    let waits = false;
    return {
      steps: [
        async function* () {
          yield deltas('half ')[0]!;
          yield {...deltas('of it')[0]!, usageMetadata: usageSoFar};
          waits = true;
          await new Promise(() => {});
        },
      ],
      runConfig: {streamingMode: StreamingMode.SSE},
      read: stop.after(2, kind, () => waits),
    };
  },

  'in the middle of a reply, with no next() pending': (_log, stop, kind) => ({
    steps: [deltas('half ', 'of it', '...')],
    runConfig: {streamingMode: StreamingMode.SSE},
    read: stop.after(2, kind),
  }),

  'between a call and its tools': (log, stop, kind) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'echo', args: {say: 'b'}}), 'unused'],
    agent: {tools: [echo(log)]},
    read: stop.after(1, kind),
  }),

  'while tools run': (log, stop, kind) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'breaks'}, {name: 'saves'}), 'unused'],
    agent: {tools: [echo(log), patient(log, 'breaks'), patient(log, 'saves', 'saved')]},
    read: stop.after(1, kind, () => log.length === 3),
  }),

  'while tools queue': (log, stop, kind) => ({
    steps: [functionCalls({name: 'echo', args: {say: 'a'}}, {name: 'breaks'}, {name: 'echo', args: {say: 'b'}}), 'unused'],
    agent: {tools: [echo(log), patient(log, 'breaks')]},
    runConfig: {maxConcurrentTools: 1},
    read: stop.after(1, kind, () => log.includes('breaks started')),
  }),

  'while a body shows its progress': (log, stop, kind) => ({
    steps: [functionCalls({name: 'climb'}), 'unused'],
    agent: {
      tools: [
        new FunctionTool({
          name: 'climb',
          description: 'Climbs.',
          async *execute() {
            try {
              for (let step = 1; ; step++) yield {step};
            } finally {
              log.push('down again');
            }
          },
        }),
      ],
    },
    read: stop.after(3, kind),
  }),

  'while a body ignores it': (log, stop, kind) => ({
    steps: [functionCalls({name: 'deaf'}, {name: 'echo', args: {say: 'a'}}), 'unused'],
    agent: {
      tools: [
        echo(log),
        new FunctionTool({name: 'deaf', description: 'Ignores all.', execute: () => (log.push('deaf'), new Promise(() => {}))}),
      ],
    },
    runConfig: {abortGraceMs: 30},
    read: stop.after(1, kind, () => log.length === 2),
  }),
};

const byKind = Object.keys(stops).flatMap((when) => Object.keys(kinds).map((how) => [how, when] as const));

describe('on an engine that crashes after every step until the stop', () => {
  test.each(byKind)('%s ends the run as in process: %s', async (how, when) => {
    const {told, engine} = await tellTwice((log) => {
      const stop = new Stop();
      const story = stops[when]!(log, stop, kinds[how]!);
      return {
        ...story,
        isStopped: stop.isMade,
        says: [{newMessage: {role: 'user', parts: [{text: 'go'}]}, abortSignal: stop.controller.signal}],
      };
    });
    expect(told.outcomes.map(({kind}) => kind)).toEqual([how === 'return()' ? 'return' : 'abort']);
    expect(engine.attempts).toBeGreaterThan(1);
  });

  test('the deadline of the run ends it as in process', async () => {
    const {told} = await tellTwice((log) => {
      let stopped = false;
      return {
        steps: [
          functionCalls({name: 'echo', args: {say: 'a'}}),
          (_request, {abortSignal}) => {
            abortSignal?.addEventListener('abort', () => (stopped = true));
            return hang();
          },
        ],
        agent: {tools: [echo(log)]},
        runConfig: {timeoutMs: 200},
        isStopped: () => stopped,
      };
    });
    expect(told.outcomes).toMatchObject([{kind: 'timeout', llmCalls: 2}]);
  });
});
