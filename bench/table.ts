import {median} from './measure.ts';
import type {Budget, Data, Figure, Scenario} from './scenario.ts';

/** What the subjects came to in one round. */
export type Round = Readonly<Record<string, Data>>;

/** The table of one scenario, in Markdown. */
export function table({question, subjects, figures}: Scenario, rounds: readonly Round[]): string {
  const head = ['', ...subjects, 'budget', 'measured', 'holds'];
  const rows = figures.flatMap((figure) => figureRows(figure, subjects, rounds));
  const lines = [head, head.map((_, at) => (at === 0 ? '---' : '---:')), ...rows].map((cells) => `| ${cells.join(' | ')} |`);
  return `### ${question}\n\n${lines.join('\n')}\n`;
}

/** Whether all budgets of a scenario hold. */
export function holds({figures}: Scenario, rounds: readonly Round[]): boolean {
  return figures.flatMap(({budgets = []}) => budgets).every((budget) => budget.holds(measured(budget, rounds)));
}

/** One row per figure, and one more for each further budget. */
function figureRows({label, key, digits = 2, budgets = []}: Figure, subjects: readonly string[], rounds: readonly Round[]): string[][] {
  const values = subjects.map((subject) => median(rounds.map((round) => round[subject]?.[key] ?? NaN)).toFixed(digits));
  const [first, ...others] = budgets.map((budget) => budgetCells(budget, rounds));
  return [[label, ...values, ...(first ?? ['', '', ''])], ...others.map((cells) => ['', ...subjects.map(() => ''), ...cells])];
}

function budgetCells(budget: Budget, rounds: readonly Round[]): string[] {
  const value = measured(budget, rounds);
  return [budget.text, value.toFixed(2), budget.holds(value) ? 'yes' : 'NO'];
}

function measured({value}: Budget, rounds: readonly Round[]): number {
  return median(rounds.map((round) => value(round)));
}
