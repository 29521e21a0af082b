import type {Scenario} from '../scenario.ts';
import {concurrency} from './concurrency.ts';
import {conversation} from './conversation.ts';
import {deltas} from './deltas.ts';
import {fanOut} from './fan-out.ts';
import {load} from './load.ts';
import {size} from './size.ts';
import {steps} from './steps.ts';
import {stop} from './stop.ts';
import {watch} from './watch.ts';

export const scenarios: Readonly<Record<string, Scenario>> = {
  steps,
  'fan-out': fanOut,
  deltas,
  concurrency,
  conversation,
  stop,
  load,
  size,
  watch,
};

export function scenarioNamed(name: string): Scenario {
  const scenario = Object.hasOwn(scenarios, name) ? scenarios[name] : undefined;
  if (!scenario) throw new Error(`no scenario ${JSON.stringify(name)}; there are ${Object.keys(scenarios).join(', ')}`);
  return scenario;
}
