import {expect, test} from 'vitest';

import {InvalidOptionError} from '../../lib/errors.ts';
import {Gemini} from '../../lib/gemini/index.ts';

test.each([
  {options: {}, option: 'model'},
  {options: {model: ''}, option: 'model'},
  {options: {model: 7}, option: 'model'},
  {options: {model: 'm', apikey: 'k'}, option: 'apikey'},
  {options: {model: 'm', apiKey: 7}, option: 'apiKey'},
  {options: {model: 'm', vertexai: 'yes'}, option: 'vertexai'},
  {options: {model: 'm', project: {}}, option: 'project'},
  {options: {model: 'm', location: 1}, option: 'location'},
  {options: {model: 'm', apiVersion: 1}, option: 'apiVersion'},
  {options: {model: 'm', httpOptions: 'http://x'}, option: 'httpOptions'},
  {options: {model: 'm', googleAuthOptions: []}, option: 'googleAuthOptions'},
  {options: {model: 'm', firstChunkMs: 0}, option: 'firstChunkMs'},
  {options: {model: 'm', idleMs: -1}, option: 'idleMs'},
  {options: {model: 'm', totalMs: Number.NaN}, option: 'totalMs'},
  {options: {model: 'm', totalMs: '10'}, option: 'totalMs'},
  {options: {model: 'm', attempts: 0}, option: 'attempts'},
  {options: {model: 'm', attempts: 1.5}, option: 'attempts'},
  {options: {model: 'm', attempts: Infinity}, option: 'attempts'},
  {options: {model: 'm', retryDelayMs: -1}, option: 'retryDelayMs'},
  {options: {model: 'm', retryDelayMs: Infinity}, option: 'retryDelayMs'},
  {options: {model: 'm', connectMs: 0}, option: 'connectMs'},
  {options: {model: 'm', connectMs: '1s'}, option: 'connectMs'},
  {options: {model: 'm', onLiveFrame: true}, option: 'onLiveFrame'},
  {options: {model: 'm', vertexai: false, project: 'p'}, option: 'project'},
  {options: 'gemini', option: 'options'},
  {options: null, option: 'options'},
])('$options is refused for its `$option`', ({options, option}) => {
  let thrown: unknown;
  try {
    void new Gemini(options as never);
  } catch (error) {
    thrown = error;
  }
  expect(thrown).toBeInstanceOf(InvalidOptionError);
  expect(thrown).toMatchObject({code: 'INVALID_OPTION', option});
});

test('an unknown option is answered with the known ones', () => {
  expect(() => new Gemini({model: 'm', retries: 2} as never)).toThrow(
    /Gemini has only model, apiKey, .*retryDelayMs, .*, got 2 \(number\)/,
  );
});

test('an undefined option is absent, and a deadline may be Infinity or longer than a timer', () => {
  const model = new Gemini({
    model: 'm',
    apiKey: undefined,
    firstChunkMs: Infinity,
    idleMs: 1e12,
    connectMs: 1e12,
    retryDelayMs: 0,
    onLiveFrame: undefined,
  });
  expect(model.model).toBe('m');
});
