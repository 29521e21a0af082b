// Two agents: the desk hands over to the cashier, who may only pay back once you have agreed.
//
//   npx sluice run examples/agents/desk
import {FunctionTool, LlmAgent} from 'sluice';
import {z} from 'zod';
import {OfflineModel} from '../models/offline.ts';

const isOnline = process.env['GEMINI_API_KEY'] !== undefined;

const payBack = new FunctionTool({
  name: 'pay_back',
  description: 'Pays an order back.',
  parameters: z.object({order: z.string(), euros: z.number()}),
  requireConfirmation: ({euros}) => euros > 20,
  execute: ({order, euros}) => ({order, paid: euros}),
});

const cashier = new LlmAgent({
  name: 'cashier',
  description: 'Pays orders back.',
  // Without a model of its own it would ask that of the desk.
  ...(!isOnline && {model: new OfflineModel({name: 'pay_back', args: {order: 'A-7', euros: 90}})}),
  instruction: 'Pay back what the customer asks for.',
  tools: [payBack],
});

export const rootAgent: LlmAgent = new LlmAgent({
  name: 'desk',
  model: isOnline ? 'gemini-2.5-flash' : new OfflineModel({name: 'transfer_to_agent', args: {agentName: 'cashier'}}),
  instruction: 'Welcome the customer, and find who can help.',
  subAgents: [cashier],
});
