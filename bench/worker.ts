// node worker.ts SCENARIO SUBJECT: measures one subject in this process and prints what came out, as JSON.
import {scenarioNamed} from './scenarios/index.ts';

const [scenario = '', subject = ''] = process.argv.slice(2);
const data = await scenarioNamed(scenario).measure(subject);
process.stdout.write(`${JSON.stringify(data)}\n`, () => process.exit(0));
