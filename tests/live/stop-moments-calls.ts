/** Moments at which tools run that the model has called. */
import {fetching, quick, showing} from '../wire/stop-scene.ts';
import {
  AFTER,
  asked,
  CALLED,
  calling,
  entered,
  GO,
  heard,
  NOT_STARTED,
  ONE,
  passGrace,
  READY,
  STARTED,
  type Moment,
} from './stop-moments.ts';

export const callMoments: readonly Moment[] = [
  {
    ...CALLED,
    name: 'while tools run',
    sessions: [calling('a', 'b')],
    tools: ({service}) => [fetching(service, 'a'), fetching(service, 'b')],
    reached: asked(2),
    service: [true, true],
    stored: [GO, 'root: a({}) b({})', `root: a=${STARTED} b=${STARTED}`],
  },
  {
    ...CALLED,
    name: 'while tools run, between two next() calls',
    sessions: [calling('a', 'quick')],
    tools: ({service}) => [fetching(service, 'a'), quick],
    pending: false,
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({}) quick({})', `root: a=${STARTED} quick=${READY}`],
  },
  {
    ...CALLED,
    name: 'while tools queue',
    sessions: [calling('a', 'b', 'c')],
    tools: ({service}) => ['a', 'b', 'c'].map((name) => fetching(service, name)),
    runConfig: {maxConcurrentTools: 1},
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({}) b({}) c({})', `root: a=${STARTED} b=${NOT_STARTED} c=${NOT_STARTED}`],
  },
  {
    ...CALLED,
    name: 'while a tool runs that has shown its progress',
    sessions: [calling('a')],
    tools: ({service}) => [showing(service, 'a')],
    reads: 2,
    reached: asked(1),
    service: [true],
    stored: [GO, 'root: a({})', `root: a=${STARTED}`],
  },
  {
    ...CALLED,
    name: 'while a tool runs that does not heed its signal',
    sessions: [calling('a', 'deaf')],
    tools: (scene) => [fetching(scene.service, 'a'), scene.tool('deaf', () => scene.letGo.promise)],
    reached: asked(1),
    after: passGrace,
    service: [true],
    entered: ['tool deaf', AFTER],
    abandoned: ['deaf'],
    stored: [GO, 'root: a({}) deaf({})', `root: a=${STARTED} deaf=${STARTED}`],
  },
  {
    ...CALLED,
    name: 'while a tool runs that brings its result after the stop',
    sessions: [calling('late')],
    tools: (scene) => [scene.tool('late', () => scene.letGo.promise.then(() => 'ready'))],
    reached: entered('tool late'),
    after: ({letGo}) => letGo.resolve(),
    entered: ['tool late', AFTER],
    stored: [GO, 'root: late({})', `root: late=${READY}`],
  },
  {
    ...CALLED,
    name: 'while a tool runs that the model does not wait for',
    sessions: [
      heard(
        (session) => void session.toolCall([{name: 'ticker', id: 'ticker'}]),
        'toolResponse',
        'toolResponse',
        (session) => session.say('one'),
      ),
    ],
    tools: (scene) => [
      scene.tool(
        'ticker',
        async function* (_args, context) {
          yield 1;
          yield 2;
          await scene.heeding('ticking', context);
        },
        {responseScheduling: 'WHEN_IDLE'},
      ),
    ],
    reads: 4,
    connections: ['setup clientContent toolResponse toolResponse left'],
    llmCalls: 2,
    entered: ['tool ticker', 'ticking', AFTER],
    stored: [GO, 'root: ticker({})', ONE, `root: ticker=${STARTED}`],
  },
  {
    ...CALLED,
    name: 'while tools run of which the model waits for some',
    sessions: [calling('a', 'ticker', 'b')],
    tools: (scene) => [
      fetching(scene.service, 'a'),
      scene.tool('ticker', (_args, context) => scene.heeding('ticking', context), {responseScheduling: 'SILENT'}),
      fetching(scene.service, 'b'),
    ],
    reached: asked(2),
    service: [true, true],
    entered: ['tool ticker', 'ticking', AFTER],
    stored: [GO, 'root: a({}) ticker({}) b({})', `root: ticker=${STARTED}`, `root: a=${STARTED} b=${STARTED}`],
  },
];
