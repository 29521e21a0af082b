import {describe, expect, it} from 'vitest';
import {injectState} from '../../../lib/agents/llm/instructions.ts';
import type {Part} from '../../../lib/content.ts';
import {InvalidOptionError} from '../../../lib/errors.ts';
import {State} from '../../../lib/sessions/state.ts';

/** The artifacts there are, beside the state. */
async function inject(template: string, state: Record<string, unknown> = {}, artifacts: Record<string, Part> = {}): Promise<string> {
  const loadArtifact = async (name: string): Promise<Part | undefined> => artifacts[name];
  return injectState(template, {state: new State(state), agentName: 'weather', loadArtifact});
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');

describe('injectState', () => {
  it('puts in values of every scope', async () => {
    const state = {city: 'Paris', 'app:name': 'Demo', 'user:name': 'Ann', 'temp:step': 3};
    expect(await inject('{city}: {app:name}, {user:name}, {temp:step}, {city}', state)).toBe('Paris: Demo, Ann, 3, Paris');
  });

  it('ignores spaces inside the braces and takes names in any script', async () => {
    expect(await inject('{ city } {straße} {_a1}', {city: 'Paris', straße: 'Rue', _a1: 'x'})).toBe('Paris Rue x');
  });

  it('writes values that are no text as JSON', async () => {
    const state = {list: [1, 'a'], record: {a: {b: null}}, none: null, off: false, zero: 0, empty: ''};
    expect(await inject('{list} {record} {none} {off} {zero} [{empty}]', state)).toBe('[1,"a"] {"a":{"b":null}} null false 0 []');
  });

  it('a missing key with a question mark is an empty text', async () => {
    expect(await inject('[{city?}] [{user:name?}] [{here?}]', {here: 'yes'})).toBe('[] [] [yes]');
  });

  it('a missing key is an error that names the key and the agent', async () => {
    const state = new State({city: 'Paris'});
    state.delete('city');
    const loadArtifact = async (): Promise<undefined> => undefined;
    await expect(injectState('Weather of {city}', {state, agentName: 'weather', loadArtifact})).rejects.toThrow(InvalidOptionError);
    await expect(inject('Weather of {user:city}')).rejects.toThrow(
      'Expected `state.user:city` to be set, since `{user:city}` stands in the instruction of agent `weather` (`{user:city?}` may be missing), got undefined',
    );
    await expect(inject('{toString}')).rejects.toThrow(InvalidOptionError);
  });

  it('leaves braces around anything else as they are', async () => {
    const kept = [
      '{"a": 1}',
      "{'city'}",
      '{{city}}',
      '{{{city}}}',
      '{{ city }}',
      '{}',
      '{ }',
      '{1}',
      '{a b}',
      '{a.b}',
      '{artifact.}',
      '{artifact.?}',
      '{artifact. report}',
      '{artifact.a\nb}',
      '{artifact.a?b}',
      '{{artifact.report}}',
      '{Artifact.report}',
      '{other:city}',
      '{app:}',
      '{app:a:b}',
      '{city??}',
      '{city',
      'city}',
      '{\ncity\n}',
      'function f() { return {a: 1}; }',
    ];
    for (const text of kept) expect(await inject(text, {city: 'Paris', a: 1})).toBe(text);
  });

  it('finds a placeholder inside other braces', async () => {
    expect(await inject('{"city": {city}}', {city: '"Paris"'})).toBe('{"city": "Paris"}');
    expect(await inject('${city}', {city: 'Paris'})).toBe('$Paris');
  });

  it('does not look into what it puts in', async () => {
    expect(await inject('{a} {b}', {a: '{b} $& $1', b: '{a}'})).toBe('{b} $& $1 {a}');
  });

  it('a value without a JSON form is an error', async () => {
    await expect(inject('{f}', {f: () => 1})).rejects.toThrow('Expected `state.f` to be a value that JSON can hold, got function f');
    await expect(inject('{big}', {big: 1n})).rejects.toThrow('Expected `state.big` to be a value that JSON can hold, got 1 (bigint)');
  });

  it('takes time in proportion to the text, whatever stands in it', async () => {
    const braces = '{'.repeat(200_000);
    const start = performance.now();
    expect(await inject(braces)).toBe(braces);
    expect(await inject(`{${' '.repeat(200_000)}`)).toHaveLength(200_001);
    expect(await inject(`{artifact.${'a '.repeat(100_000)}`)).toHaveLength(200_010);
    expect(await inject('{artifact.a'.repeat(20_000))).toHaveLength(220_000);
    expect(performance.now() - start).toBeLessThan(1_000);
  });

  it('puts in the texts of artifacts', async () => {
    const artifacts = {
      report: {text: 'All is well.'},
      'user:my notes.txt': {inlineData: {mimeType: 'text/plain; charset=utf-8', data: base64('Grüße {city}')}},
      'a/b.json': {inlineData: {mimeType: 'application/json', data: base64('{"a":1}')}},
      'x.svg': {inlineData: {mimeType: 'image/svg+xml', data: base64('<svg/>').replaceAll('+', '-').replaceAll('/', '_')}},
      empty: {text: ''},
    };
    const template = '{artifact.report} [{ artifact.user:my notes.txt }] {{artifact.a/b.json}|{artifact.x.svg?}|{artifact.empty}|{city}';
    expect(await inject(template, {city: 'Rome'}, artifacts)).toBe('All is well. [Grüße {city}] {{"a":1}|<svg/>||Rome');
  });

  it('a missing artifact is an error, with a question mark an empty text', async () => {
    expect(await inject('[{artifact.a b?}]')).toBe('[]');
    await expect(inject('{artifact.a b}')).rejects.toThrow(
      'Expected `artifact.a b` to be a saved artifact, since `{artifact.a b}` stands in the instruction of agent `weather` (`{artifact.a b?}` may be missing), got undefined',
    );
  });

  it.each<[string, Part, string]>([
    ['an image', {inlineData: {mimeType: 'image/png', data: 'AAAA'}}, '"image/png" (string)'],
    ['a file elsewhere', {fileData: {mimeType: 'text/plain', fileUri: 'gs://a/b'}}, '"text/plain" (string)'],
    ['of no type', {inlineData: {data: 'AAAA'}}, '"" (string)'],
  ])('an artifact that is %s is an error', async (_, part, got) => {
    const expected = `Expected \`artifact.a\` to be text that is stored as such, to stand in an instruction, got ${got}`;
    await expect(inject('{artifact.a?}', {}, {a: part})).rejects.toThrow(expected);
  });

  it('an artifact of text that is not base64 is an error', async () => {
    const broken = inject('{artifact.a}', {}, {a: {inlineData: {mimeType: 'text/plain', data: '%%'}}});
    await expect(broken).rejects.toThrow('Expected `artifact.a` to be base64, to stand in an instruction, got "%%" (string)');
  });
});
