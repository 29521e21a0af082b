import {describe, expect, test} from 'vitest';
import {LongRunningFunctionTool, requestInputTool, type FunctionTool} from 'sluice';
import {deltas, functionCalls, ScheduleExplorer, type ScenarioFactory} from 'sluice/testing';
import {after, calls, quick, sleep, slow} from '../stories/explorer-scenarios.ts';
import {agent, answering, pay, payer, SlowStore} from './explorer-scenarios.ts';

const ask = (): LongRunningFunctionTool => new LongRunningFunctionTool({name: 'ask', description: '', execute: () => undefined});

/** Asks for a word in its body, and goes on with it. */
const asksInside = (): FunctionTool =>
  pay({
    requireConfirmation: false,
    execute: async (_, context) => {
      if (!context.toolConfirmation) {
        context.requestConfirmation({hint: 'Sure?', payload: {amount: 1}});
        return {asked: true};
      }
      await sleep(5, context.abortSignal);
      return {paid: context.toolConfirmation.confirmed};
    },
  });

/** Asks for a word, and when it has that, for a credential. */
const asksTwice = (): FunctionTool =>
  pay({
    requireConfirmation: false,
    execute: async (_, context) => {
      const token = context.getAuthResponse();
      if (token) return sleep(5, context.abortSignal).then(() => ({paid: token}));
      if (context.toolConfirmation) context.requestCredential({scheme: 'oauth2'});
      else context.requestConfirmation({hint: 'Sure?'});
      return undefined;
    },
  });

/** Has to be confirmed, and asks for a credential then. */
const confirmedThenToken = (): FunctionTool =>
  pay({
    execute: async (_, context) => {
      const token = context.getAuthResponse();
      if (token) return sleep(5, context.abortSignal).then(() => ({paid: token}));
      context.requestCredential({scheme: 'oauth2'});
      return undefined;
    },
  });

const asksForBoth = (): FunctionTool =>
  pay({
    requireConfirmation: false,
    execute: async (_, context) => {
      const token = context.getAuthResponse();
      if (token && context.toolConfirmation) return sleep(5, context.abortSignal).then(() => ({paid: token}));
      context.requestCredential({scheme: 'oauth2'});
      context.requestConfirmation({hint: 'Sure?'});
      return undefined;
    },
  });

const scenarios: Readonly<Record<string, ScenarioFactory>> = {
  'a confirmed call': answering({agent: () => payer()}),
  'a confirmed call, and another that is refused': answering({
    agent: () => agent('payer', [functionCalls({name: 'pay'}, {name: 'pay'}, {name: 'slow'}), 'Done.'], {tools: [pay(), slow('slow', 10)]}),
    say: (_, at) => ({confirmed: at === 0}),
  }),
  'a confirmed call, and another that waits on': answering({
    agent: () => agent('payer', [functionCalls({name: 'pay'}, {name: 'pay'}), 'Done.'], {tools: [pay()]}),
    say: (_, at) => (at === 0 ? {confirmed: true} : undefined),
  }),
  'a call that asks in its body': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksInside(), quick('quick')]}),
  }),
  'a call that asks for a word and then for a credential, and gets the word': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksTwice(), quick('quick')]}),
  }),
  'a call that asks for a word and then for a credential, and gets both': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksTwice(), quick('quick')]}),
    answers: 2,
  }),
  'a call that has to be confirmed and asks for a credential, and gets both': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [confirmedThenToken(), quick('quick')]}),
    answers: 2,
  }),
  'a call that asks for a word and a credential at once': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksForBoth(), quick('quick')]}),
  }),
  'one of two answers that a call has asked for': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksForBoth(), quick('quick')]}),
    say: ({name}) => (name === 'adk_request_credential' ? {token: 'secret'} : undefined),
  }),
  'a refusal, and the rest of what a call has asked for open': answering({
    agent: () => agent('payer', [calls('pay', 'quick'), 'Done.'], {tools: [asksForBoth(), quick('quick')]}),
    say: ({name}) => (name === 'adk_request_confirmation' ? {confirmed: false} : undefined),
  }),
  'a confirmed call in a store that takes time': answering({agent: () => payer(), service: () => new SlowStore()}),
  'a confirmed call behind a run that the user has started meanwhile': answering({
    agent: () => agent('payer', [calls('quick', 'pay'), after(5, 'I wait.'), 'Paid.'], {tools: [quick('quick'), pay()]}),
    aside: 'Well?',
  }),
  'a confirmed call that never ends': answering({
    agent: () => agent('payer', [calls('pay'), 'Done.'], {tools: [pay({execute: () => new Promise(() => {}), timeoutMs: 50})]}),
  }),
  'answers to long-running calls': answering({
    agent: () => agent('clerk', [calls('ask', 'quick', 'ask'), deltas('So ', 'be it.')], {tools: [ask(), quick('quick')]}),
  }),
  'an answer to one of two long-running calls': answering({
    agent: () => agent('clerk', [calls('ask', 'ask'), 'So be it.'], {tools: [ask()]}),
    say: (_, at) => (at === 0 ? {approved: true} : undefined),
  }),
  'an answer to a question of the model’s': answering({
    agent: () =>
      agent('clerk', [functionCalls({name: 'adk_request_input', args: {message: 'When?'}}), deltas('Fi', 'ne.')], {
        tools: [requestInputTool],
      }),
    say: () => ({result: 'now'}),
  }),
};

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(scenarios)) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 150, randomSchedules: 30}).explore();

      expect(report.schedules).toBeGreaterThan(150);
    });
  }
});
