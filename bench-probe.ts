import {toFunctionResponse} from './lib/tools/tool-result.ts';
import {copyJson, frozenCopy} from './lib/schema/json-copy.ts';
const shapes = [{ok: true, temperature: 21.5, city: 'Paris'}, {a: 1, b: {c: [1, 2, 3]}}, {status: 'done'}, {list: [{id: 1, n: 'x'}, {id: 2, n: 'y'}]}];
const run = (f: (v: unknown) => unknown) => { const n = 400000; const t = process.hrtime.bigint(); for (let i = 0; i < n; i++) f(shapes[i & 3]); return (Number(process.hrtime.bigint() - t) / n).toFixed(0); };
for (let r = 0; r < 4; r++) console.log('response', run(toFunctionResponse), 'copyJson', run(copyJson), 'frozen', run((v) => frozenCopy(v)), 'json', run((v) => JSON.parse(JSON.stringify(v))));
