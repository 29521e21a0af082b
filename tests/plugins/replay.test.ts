// Plugins on an engine that crashes after every step and goes on from its records: nobody is asked twice, and nothing comes out otherwise.
import {expect, test} from 'vitest';
import {createEvent} from 'sluice';
import {functionCalls} from 'sluice/testing';
import {line} from '../stories/kit.ts';
import {tellTwice, type Log} from '../stories/replay-kit.ts';
import {broken, echo, noting, type Hooks} from './kit.ts';

const content = (text: string) => ({role: 'model', parts: [{text}]});

/** A plugin that has every hook, writes where it can, and rewrites the message and the events. */
function busy(log: Log, hooks: Hooks = {}) {
  return noting('all', log, {
    onUserMessageCallback: ({userMessage}) => ({parts: [...(userMessage.parts ?? []), {text: 'please'}]}),
    onEventCallback: ({event}) => ({...event, customMetadata: {seen: true}}),
    beforeAgentCallback: ({callbackContext}) => callbackContext.state.set('agent', 'began'),
    beforeToolCallback: ({toolContext, tool}) => toolContext.state.set(`tool:${tool.name}`, 'began'),
    onAgentErrorCallback: ({callbackContext}) => callbackContext.state.set('agent', 'failed'),
    ...hooks,
  });
}

test('a run with tools asks each hook once', async () => {
  const {told, engine} = await tellTwice((log) => ({
    steps: [functionCalls({name: 'echo'}, {name: 'broken'}), 'done'],
    agent: {tools: [echo, broken]},
    runner: {plugins: [busy(log)]},
  }));
  expect(engine.attempts).toBeGreaterThan(10);
  expect(told.stored.map(line)).toEqual([
    'user: "go" "please"',
    'root: ',
    'root: echo({}) broken({})',
    'root: echo={"result":"said"} broken={"error":"out of order"}',
    'root: "done"',
  ]);
  expect(told.stored.slice(1).every(({customMetadata}) => customMetadata?.['seen'])).toBe(true);
  expect(told.state).toEqual({agent: 'began', 'tool:echo': 'began', 'tool:broken': 'began'});
  expect(told.log.filter((entry) => /afterRun|onUserMessage|beforeRun/.test(entry))).toEqual([
    'all onUserMessageCallback',
    'all beforeRunCallback',
    'all afterRunCallback',
  ]);
});

test('content of beforeRunCallback stands in for the agent', async () => {
  const {told} = await tellTwice((log) => ({runner: {plugins: [busy(log, {beforeRunCallback: () => content('closed')})]}}));
  expect(told.events.map(line)).toEqual(['root: "closed"']);
  expect(told.requests).toEqual([]);
});

test('a run that fails tells each hook once, and stores what it wrote', async () => {
  const {told} = await tellTwice((log) => ({steps: [new Error('no model')], runner: {plugins: [busy(log)]}}));
  expect(told.errors).toMatchObject([{code: 'MODEL_FAILED', message: 'no model'}]);
  expect(told.state).toEqual({agent: 'failed'});
  expect(told.log.filter((entry) => /Error|afterRun/.test(entry))).toEqual([
    'all onModelErrorCallback',
    'all onAgentErrorCallback',
    'all onRunErrorCallback',
    'all afterRunCallback',
  ]);
});

test.each(['onUserMessageCallback', 'beforeRunCallback', 'onEventCallback', 'afterRunCallback'] as const)(
  'a %s that throws is asked once, and is the error of the run',
  async (hook) => {
    const fails = () => {
      throw new Error('of my own');
    };
    const {told} = await tellTwice((log) => ({steps: ['done'], runner: {plugins: [busy(log, {[hook]: fails})]}}));
    expect(told.errors).toMatchObject([{code: 'HOOK_FAILED', hook}]);
    expect(told.log.filter((entry) => entry === `all ${hook}`)).toHaveLength(1);
  },
);

test('an event that a hook made anew is told again as it was', async () => {
  const {told} = await tellTwice((log) => ({
    steps: ['done'],
    runner: {plugins: [noting('all', log, {onEventCallback: () => createEvent({author: 'root', content: content('new')})})]},
  }));
  expect(told.events.map(line)).toEqual(['root: "new"']);
});
