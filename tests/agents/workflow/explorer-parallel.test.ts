import {describe, expect, test} from 'vitest';
import {ScheduleExplorer} from 'sluice/testing';
import {parallelScenarios} from './explorer-workflows.ts';

describe('a stop at any moment keeps the contract with', () => {
  for (const [name, scenario] of Object.entries(parallelScenarios)) {
    test(name, async () => {
      const report = await new ScheduleExplorer({scenario, maxSchedules: 250, randomSchedules: 50}).explore();

      expect(report.schedules).toBeGreaterThan(250);
    });
  }
});
