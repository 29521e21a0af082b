// An agent that waits for a person: asked to pay, it asks for approval, and the run ends. Your next message is the answer.
//
//   npx sluice run examples/agents/expenses
import {LlmAgent, LongRunningFunctionTool} from 'sluice';
import {z} from 'zod';
import {OfflineModel} from '../models/offline.ts';

const askForApproval = new LongRunningFunctionTool({
  name: 'ask_for_approval',
  description: 'Asks a manager to approve an expense.',
  parameters: z.object({purpose: z.string(), amount: z.number()}),
  // What there is to say so far. In earnest it would write to the manager.
  execute: () => ({status: 'asked'}),
});

const example = {name: 'ask_for_approval', args: {purpose: 'train to Lyon', amount: 90}};

export const rootAgent: LlmAgent = new LlmAgent({
  name: 'expenses',
  model: process.env['GEMINI_API_KEY'] ? 'gemini-2.5-flash' : new OfflineModel(example),
  instruction: 'You file expenses. Ask for approval before you confirm one.',
  tools: [askForApproval],
});
