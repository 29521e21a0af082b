import {scenarios} from './explorer-scenarios.ts';
import {sweep} from './explorer-scratch-kit.ts';
const only = process.argv[2]; const max = Number(process.argv[3] ?? 800);
for (const [name, s] of Object.entries(scenarios)) if (!only || only === 'all' || name === only) await sweep(name, s, {max, random: Math.floor(max / 5)});
