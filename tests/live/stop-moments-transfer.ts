/** Moments at which one agent hands over to another. */
import {LlmAgent, type LlmAgentConfig} from 'sluice';
import {Gemini} from 'sluice/gemini';
import {fetching} from '../wire/stop-scene.ts';
import {AFTER, asked, entered, GO, heard, passGrace, STARTED, turns, until, type Moment} from './stop-moments.ts';
import {SlowToolset} from './stop-moments-preparing.ts';
import type {Scene} from './stop-scene.ts';
import {ANSWER, CALL, transferTo} from './transfer-kit.ts';

const AFTER_CLERK = 'after clerk';
const BUSY = {
  status: 429,
  body: {
    error: {
      code: 429,
      status: 'RESOURCE_EXHAUSTED',
      message: 'busy',
      details: [{'@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '20s'}],
    },
  },
};

const transferring = heard((session) => void session.toolCall([transferTo('clerk')]));

/** A root with a clerk below it. */
function withClerk(config: (scene: Scene) => Partial<LlmAgentConfig> = () => ({})): (scene: Scene) => Partial<LlmAgentConfig> {
  return (scene) => {
    const model = new Gemini({model: 'live-clerk', apiKey: 'k', httpOptions: {baseUrl: scene.server.url}});
    const afterAgentCallback = (): void => scene.enter(AFTER_CLERK);
    return {subAgents: [new LlmAgent({name: 'clerk', model, afterAgentCallback, ...config(scene)})]};
  };
}

/** The reader has got the answer that hands over, and waits. */
const HANDED = {
  sessions: [transferring],
  agent: withClerk(),
  reads: 2,
  pending: true,
  connections: ['setup clientContent left'],
  llmCalls: 1,
  stored: [GO, CALL, ANSWER],
} as const;

/** The second connection has been asked for, and all has come of that what comes by itself. */
async function connecting(scene: Scene): Promise<void> {
  await until(() => scene.server.sessions.length === 2);
  await turns();
}

async function closed(scene: Scene): Promise<void> {
  await scene.session().closed;
  await turns();
}

export const transferMoments: readonly Moment[] = [
  {
    ...HANDED,
    name: 'while a sibling of the transfer runs',
    sessions: [heard((session) => void session.toolCall([{name: 'a', id: 'a'}, transferTo('clerk')]))],
    tools: ({service}) => [fetching(service, 'a')],
    reads: 1,
    reached: asked(1),
    service: [true],
    stored: [GO, `root: a({}) ${CALL.slice(6)}`, `root: a=${STARTED} ${ANSWER.slice(6)}`],
  },
  {
    ...HANDED,
    name: 'while the store writes the answer that hands over',
    slowAppend: 3,
    reads: 1,
    reached: (scene) => scene.store.writing.then(() => turns()),
    after: (scene) => scene.store.open(),
  },
  {
    ...HANDED,
    name: 'while a call of the old agent holds up the transfer',
    sessions: [heard((session) => void session.toolCall([{name: 'deaf', id: 'd'}, transferTo('clerk')]))],
    tools: (scene) => [scene.tool('deaf', () => scene.letGo.promise, {responseScheduling: 'WHEN_IDLE'})],
    reached: entered('tool deaf'),
    after: passGrace,
    // The clock would go on beyond the grace.
    except: ['close() at its deadline', 'the deadline of the run'],
    entered: ['tool deaf', AFTER],
    abandoned: ['deaf'],
    stored: [GO, `root: deaf({}) ${CALL.slice(6)}`, ANSWER, `root: deaf=${STARTED}`],
  },
  {...HANDED, name: 'after the transfer, before the new agent is asked for', pending: false, reached: closed},
  {
    ...HANDED,
    name: 'while the callback before the new agent is asked, and sound waits for it',
    agent: withClerk((scene) => ({beforeAgentCallback: (context) => scene.heeding('before clerk', context)})),
    reached: async (scene) => {
      await entered('before clerk')(scene);
      scene.hear('AAAA');
      scene.hear('BBBB');
    },
    entered: ['before clerk', AFTER],
  },
  {
    ...HANDED,
    name: 'while the callback before the new agent is asked, which heeds nothing',
    agent: withClerk((scene) => ({beforeAgentCallback: () => scene.deaf('before clerk')})),
    reached: entered('before clerk'),
    after: passGrace,
    entered: ['before clerk', AFTER],
    abandoned: ['beforeAgentCallback of clerk'],
  },
  {
    ...HANDED,
    name: 'while the tools of the new agent are listed',
    agent: withClerk((scene) => ({tools: [new SlowToolset((context) => scene.heeding('listing', context).then(() => []))]})),
    reached: entered('listing'),
    entered: ['listing', AFTER_CLERK, AFTER],
  },
  {
    ...HANDED,
    name: 'while the handshake of the new agent is not answered',
    sessions: [transferring, {script: [], options: {handshake: 'stall'}}],
    reached: connecting,
    connections: ['setup clientContent left', 'left'],
    entered: [AFTER_CLERK, AFTER],
  },
  {
    ...HANDED,
    name: 'while the setup of the new agent is not answered',
    sessions: [transferring, ['setup']],
    reached: connecting,
    connections: ['setup clientContent left', 'setup left'],
    entered: [AFTER_CLERK, AFTER],
  },
  {
    ...HANDED,
    name: 'during a back-off of the new agent',
    sessions: [transferring, {script: [], options: {handshake: BUSY}}],
    reached: (scene) => until(() => scene.clock.delays.includes(20_000)),
    connections: ['setup clientContent left', ''],
    entered: [AFTER_CLERK, AFTER],
  },
  {
    ...HANDED,
    name: 'while the new agent says nothing',
    sessions: [transferring, heard()],
    reached: async (scene) => {
      await until(() => scene.server.sessions[1]?.received.length === 3);
      await turns();
    },
    connections: ['setup clientContent left', 'setup clientContent clientContent left'],
    entered: [AFTER_CLERK, AFTER],
  },
  {
    ...HANDED,
    name: 'while the new agent speaks',
    sessions: [transferring, heard('clientContent', (session) => session.say('one'))],
    reads: 3,
    pending: false,
    connections: ['setup clientContent left', 'setup clientContent clientContent left'],
    llmCalls: 2,
    entered: [AFTER_CLERK, AFTER],
    stored: [GO, CALL, ANSWER, 'clerk: "one" [stopped]'],
  },
];
