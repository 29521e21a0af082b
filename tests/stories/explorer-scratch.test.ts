import {test} from 'vitest';
import {modelScenarios, toolScenarios, surroundings} from './explorer-scenarios.ts';
import {sweep} from './explorer-scratch-kit.ts';
const only = process.env['ONLY']; const max = Number(process.env['MAX'] ?? 300);
test('sweep', async () => {
for (const [name, s] of Object.entries({...modelScenarios, ...toolScenarios, ...surroundings})) if (!only || name === only) await sweep(name, s, {max, random: Math.floor(max / 5)});
}, 3_000_000);
