import {describe, expect, test} from 'vitest';
import {ScheduleExplorer} from 'sluice/testing';
import {surroundings} from './explorer-scenarios.ts';

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(surroundings)) {
    test(name, async () => {
      // How a wait ends depends on when its reader first asks, and that is what random schedules move.
      const randomSchedules = name === 'a run that waits in vain' ? 0 : 50;
      const report = await new ScheduleExplorer({scenario, maxSchedules: 250, randomSchedules}).explore();

      expect(report.schedules).toBeGreaterThanOrEqual(250);
    });
  }
});
