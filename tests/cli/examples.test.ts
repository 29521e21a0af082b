import {expect, test} from 'vitest';
import {sluice, start} from './sluice.ts';

test('the weather agent shows its progress and answers without a key', async () => {
  const {code, stdout, stderr} = await sluice(['run', 'examples/agents/weather.ts', '-m', 'Weather in Paris?']);
  const response = '{"city":"Paris","sky":"clear","degrees":21}';
  expect({code, stdout}).toEqual({code: 0, stdout: `Without GEMINI_API_KEY all that I know is ${response}.\n`});
  expect(stderr.split('\n')).toEqual([
    'call get_forecast {"city":"Paris"}',
    'progress get_forecast {"station":"airport","read":true}',
    'progress get_forecast {"station":"harbour","read":true}',
    `response get_forecast ${response}`,
    '',
  ]);
});

test('the expenses agent waits for an answer', async () => {
  const {code, stdout} = await sluice(['run', 'examples/agents/expenses'], ['Pay my train', '{"approved": true}']);
  expect({code, stdout}).toEqual({code: 0, stdout: 'Without GEMINI_API_KEY all that I know is {"approved":true}.\n'});
});

test.each([
  ['yes', '{"order":"A-7","paid":90}'],
  ['no', '{"error":"The user refused this call"}'],
])('the desk hands over to the cashier, who asks before paying back: %s', async (word, response) => {
  const {code, stdout, stderr} = await sluice(['run', 'examples/agents/desk'], ['Pay my order back', word]);
  expect({code, stdout}).toEqual({code: 0, stdout: `Without GEMINI_API_KEY all that I know is ${response}.\n`});
  expect(stderr).toMatch(/^waiting pay_back \{"order":"A-7","euros":90\}: Confirm the call of pay_back\./m);
});

test('the folder of examples can be served', async () => {
  await using program = start(['serve', 'examples/agents', '-p', '0']);
  const [, url = ''] = await program.until(/^Serving desk, expenses, weather on (\S+)\n/);
  expect(await (await fetch(`${url}/list-apps`)).json()).toEqual(['desk', 'expenses', 'weather']);
  program.kill('SIGTERM');
  expect(await program.ended).toMatchObject({code: 0, stderr: ''});
});
