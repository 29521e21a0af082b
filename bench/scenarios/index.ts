import type {Scenario} from '../scenario.ts';
import {deltas} from './deltas.ts';
import {steps} from './steps.ts';

export const scenarios: Readonly<Record<string, Scenario>> = {steps, deltas};

export function scenarioNamed(name: string): Scenario {
  const scenario = scenarios[name];
  if (!scenario) throw new Error(`no scenario ${JSON.stringify(name)}; there are ${Object.keys(scenarios).join(', ')}`);
  return scenario;
}
