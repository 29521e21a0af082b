import {GeminiServer, calls, answer} from '/work/main/lib/testing/index.ts';
import {execFile} from 'node:child_process';
import {promisify} from 'node:util';
const reply = (request: any) => (request.body.contents?.length === 1 ? calls([{name: 'tool'}])(request) : answer('done'));
for (const [runs, only] of [[200,''],[800,''],[800,'0'],[800,'1'],[800,'2'],[800,'3'],[2000,'1']]) {
const server = await GeminiServer.start({replies: Array.from({length: 20_000}, () => reply)});
const {stdout} = await promisify(execFile)(process.execPath, ['--no-warnings', '--expose-gc', '/work/main/tests/reports/children/zz.ts', server.url], {env: {...process.env, RUNS: String(runs), ONLY: String(only)}});
console.log(runs, only, stdout.trim());
await server.close();
}
