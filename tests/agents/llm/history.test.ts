import {describe, expect, it} from 'vitest';
import {History} from '../../../lib/agents/llm/history.ts';
import type {Part} from '../../../lib/content.ts';
import type {Event} from '../../../lib/events/event.ts';
import {AGENT, call, contentsOf, event, model, pending, result, results, script, user} from './history-events.ts';

const LOST = '{"error":"no response was recorded; the call may have taken effect"}';

describe('what is said', () => {
  it('stands in order, with the very contents of the events', () => {
    const events = [user('hi'), model('hello'), user('bye')];
    const contents = contentsOf(events);
    expect(contents).toEqual(events.map(({content}) => content));
    contents.forEach((content, at) => expect(content).toBe(events[at]?.content));
  });

  it('keeps parts verbatim: signatures in place, signed empty texts, thoughts, server-side tools', () => {
    const parts = [
      {text: 'hm', thought: true},
      {functionCall: {id: 'a', name: 'f', args: {x: 1}}, thoughtSignature: 'S1'},
      {functionCall: {id: 'b', name: 'f', args: {x: 2}}},
      {text: '', thoughtSignature: 'S2'},
      {text: ''},
    ];
    const contents = contentsOf([user('go'), event(AGENT, parts), results([result('a', {}, 'f'), result('b', {}, 'f')])]);
    expect(contents[1]).toEqual({role: 'model', parts});
    contents[1]?.parts?.forEach((part, at) => expect(part).toBe(parts[at]));
    const signed = [{text: '', thoughtSignature: 'S3'}];
    expect(contentsOf([user('go'), event(AGENT, signed), user('on')])[1]).toEqual({role: 'model', parts: signed});
  });

  it('leaves out partial events and contents that are empty on the wire', () => {
    const nothing: Event[] = [
      event(AGENT, [{text: 'par'}], {partial: true}),
      event(AGENT, [call('p')], {partial: true}),
      event(AGENT, []),
      event(AGENT, [{text: ''}, {text: '', thought: true}, {}]),
      event('user', [{text: ''}]),
      event('other', [{text: ''}, {text: 'secret', thought: true}]),
      event(AGENT, [], {content: {role: 'model'}}),
      event(AGENT, [], {errorCode: 'SAFETY', content: {}}),
    ];
    expect(script(contentsOf([user('hi'), ...nothing, user('there')]))).toEqual(['user: hi', 'user: there']);
  });

  it("reads a missing or unknown role as the author's", () => {
    const events = [
      event('user', [], {content: {parts: [{text: 'hi'}]}}),
      event(AGENT, [], {content: {parts: [{text: 'hello'}]}}),
      event(AGENT, [], {content: {parts: [call('a')]}}),
      event(AGENT, [], {content: {role: 'function', parts: [result('a', {ok: true})]}}),
      event('user', [], {content: {role: 'system', parts: [{text: 'more'}]}}),
    ];
    expect(script(contentsOf(events))).toEqual([
      'user: hi',
      'model: hello',
      'user: Continue.',
      'model: call a',
      'user: a={"ok":true}',
      'user: more',
    ]);
  });

  it('is never nothing, since a model refuses a request without contents', () => {
    expect(script(contentsOf([]))).toEqual(['user: Continue.']);
    expect(script(contentsOf([user('')]))).toEqual(['user: Continue.']);
  });
});

describe('branches', () => {
  const said = (branch: string | undefined): Event => event(AGENT, [{text: branch ?? 'all'}], branch === undefined ? {} : {branch});
  const events = [user('hi'), ...[undefined, 'a', 'a.b', 'a.bc', 'a.b.c', 'b', 'a.x'].map(said), user('next')];

  it('a branch sees itself and what is above it, by segment', () => {
    expect(script(contentsOf(events, {branch: 'a.b'}))).toEqual(['user: hi', 'model: all', 'model: a', 'model: a.b', 'user: next']);
  });

  it('a name that begins like another is another', () => {
    expect(script(contentsOf(events, {branch: 'a.bc'}))).toEqual(['user: hi', 'model: all', 'model: a', 'model: a.bc', 'user: next']);
  });

  it('an agent without a branch sees all', () => {
    expect(contentsOf(events)).toHaveLength(events.length);
  });

  it('remembers the call ids of all branches and agents', () => {
    const history = new History({agentName: AGENT, branch: 'a', includeContents: 'default'});
    const list = [event(AGENT, [call('own')]), event('other', [call('theirs')]), event('far', [call('hidden')], {branch: 'b'})];
    expect(history.hasCall('own')).toBe(false);
    history.contents(list);
    expect(['own', 'theirs', 'hidden', 'none'].map((id) => history.hasCall(id))).toEqual([true, true, true, false]);
  });
});

describe('calls and responses', () => {
  it('a response event follows its calls as it is', () => {
    const answers = [result('a', {n: 1}), result('b', {n: 2})];
    const contents = contentsOf([user('go'), model(call('a'), call('b')), results(answers), model('done'), user('ok')]);
    expect(script(contents)).toEqual(['user: go', 'model: call a | call b', 'user: a={"n":1} | b={"n":2}', 'model: done', 'user: ok']);
    contents[2]?.parts?.forEach((part, at) => expect(part).toBe(answers[at]));
  });

  it('responses from several events stand in one content, in call order', () => {
    const events = [
      user('go'),
      model(call('a'), call('b'), call('c')),
      results([result('c', {})]),
      results([result('a', {}), result('b', {})]),
    ];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: call a | call b | call c', 'user: a={} | b={} | c={}']);
  });

  it('what stands beside responses follows them', () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'AA=='}};
    const events = [user('go'), model(call('a')), results([result('a', {}), image]), model('nice'), user('ok')];
    expect(script(contentsOf(events))).toEqual([
      'user: go',
      'model: call a',
      'user: a={}',
      `user: ${JSON.stringify(image)}`,
      'model: nice',
      'user: ok',
    ]);
  });

  it('a call without a response is answered by what is known', () => {
    const cut = event(AGENT, [call('b')], {errorCode: 'MAX_TOKENS'});
    expect(script(contentsOf([user('go'), model(call('a')), user('well?'), cut, user('again')]))).toEqual([
      'user: go',
      'model: call a',
      `user: a=${LOST}`,
      'user: well?',
      'model: call b',
      'user: b={"error":"not run: the reply ended with MAX_TOKENS"}',
      'user: again',
    ]);
  });

  it('a long-running call that a crash left without any response is pending', () => {
    const started = event(AGENT, [call('a'), call('b')], {longRunningToolIds: ['b']});
    expect(script(contentsOf([user('go'), started, user('well?')]))[2]).toBe(`user: a=${LOST} | b={"status":"pending"}`);
  });

  it('a response that no call asked for is dropped', () => {
    const events = [
      user('go', result('z', {})),
      results([result('a', {})]),
      model(call('a')),
      results([result('a', {n: 1}), result('x', {})]),
    ];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: call a', 'user: a={"n":1}']);
  });

  it('a response with an unknown id does not answer a call that has another', () => {
    const events = [user('go'), model(call('a')), results([result('x', {n: 1}, 'tool_a')])];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: call a', `user: a=${LOST}`]);
  });

  it('the later response counts', () => {
    const events = [user('go'), model(call('a')), results([result('a', {n: 1})]), results([result('a', {n: 2})])];
    expect(script(contentsOf(events))[2]).toBe('user: a={"n":2}');
  });

  it('an id used again in a later turn is answered there', () => {
    const events = [
      user('1'),
      model(call('a')),
      results([result('a', {n: 1})]),
      user('2'),
      model(call('a')),
      results([result('a', {n: 2})]),
    ];
    expect(script(contentsOf(events))).toEqual([
      'user: 1',
      'model: call a',
      'user: a={"n":1}',
      'user: 2',
      'model: call a',
      'user: a={"n":2}',
    ]);
  });

  it('calls of one content with one id are answered in their order', () => {
    const twins = event(AGENT, [call('a'), call('a')], {longRunningToolIds: ['a']});
    const waiting = [user('go'), twins, results([pending('a'), pending('a')], ['a'])];
    expect(script(contentsOf([...waiting, user(result('a', {n: 1}), result('a', {n: 2}))]))[2]).toBe('user: a={"n":1} | a={"n":2}');
    expect(script(contentsOf([...waiting, user(result('a', {n: 1})), user(result('a', {n: 2}))]))[2]).toBe('user: a={"n":1} | a={"n":2}');
    expect(
      script(contentsOf([user('go'), model(call('a'), call('a')), results([result('a', {n: 1})]), results([result('a', {n: 2})])]))[2],
    ).toBe('user: a={"n":1} | a={"n":2}');
  });

  it('calls without an id are paired by name and position, and stay without one', () => {
    const bare = (name: string): {functionCall: object} => ({functionCall: {name}});
    const answer = (name: string, n: number, id?: string): {functionResponse: object} => ({
      functionResponse: {name, response: {n}, ...(id && {id})},
    });
    const events = [
      user('go'),
      event(AGENT, [bare('f'), bare('g'), bare('f')]),
      results([answer('f', 1), answer('f', 2, 'made-up'), answer('g', 3)]),
    ];
    const contents = contentsOf(events);
    expect(contents[2]).toEqual({role: 'user', parts: [answer('f', 1), answer('g', 3), answer('f', 2)]});
    expect(contents[2]?.parts?.[2]?.functionResponse).not.toHaveProperty('id');
  });

  it('a response without an id answers the open call of its name', () => {
    const bare = {functionResponse: {name: 'tool_b', response: {n: 2}}};
    const events = [user('go'), model(call('a'), call('b')), results([bare]), results([result('a', {n: 1})])];
    expect(contentsOf(events)[2]).toEqual({role: 'user', parts: [result('a', {n: 1}), result('b', {n: 2})]});
  });

  it('a response is given the name of its call and an object', () => {
    const odd = [
      {functionResponse: {id: 'a', name: 'wrong', response: {n: 1}, scheduling: 'SILENT'}},
      {functionResponse: {id: 'b', response: ['x']}},
      {functionResponse: {id: 'c', name: 'tool_c'}},
    ];
    const contents = contentsOf([user('go'), model(call('a'), call('b'), call('c')), results(odd as unknown as Part[])]);
    expect(contents[2]?.parts).toEqual([
      {functionResponse: {id: 'a', name: 'tool_a', response: {n: 1}, scheduling: 'SILENT'}},
      {functionResponse: {id: 'b', name: 'tool_b', response: {result: ['x']}}},
      {functionResponse: {id: 'c', name: 'tool_c', response: {}}},
    ]);
  });

  it('a call that the server answered within its reply stays there, with the response, as it came', () => {
    const events = [user('go'), model({text: 'look'}, call('a'), result('a', {n: 1}), {text: 'done'}), user('ok')];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: look | call a | a={"n":1} | done', 'user: ok']);
  });

  it('beside such a call the others of the reply are answered, and a response of its id later is no answer', () => {
    const reply = model(call('s'), result('s', {n: 1}), call('a'));
    const events = [user('go'), reply, results([result('s', {n: 2}), result('a', {})]), model('done'), user('ok')];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: call s | s={"n":1} | call a', 'user: a={}', 'model: done', 'user: ok']);
  });

  it('text between calls and their responses stands behind both', () => {
    const events = [user('go'), model(call('a')), user('hurry'), results([result('a', {})]), model('done'), user('ok')];
    expect(script(contentsOf(events))).toEqual(['user: go', 'model: call a', 'user: a={}', 'user: hurry', 'model: done', 'user: ok']);
  });
});

describe('what a model refuses', () => {
  it('calls that no user content stands before get one', () => {
    const events = [model(call('a')), results([result('a', {})]), model('one'), model(call('b')), results([result('b', {})])];
    expect(script(contentsOf(events))).toEqual([
      'user: Continue.',
      'model: call a',
      'user: a={}',
      'model: one',
      'user: Continue.',
      'model: call b',
      'user: b={}',
    ]);
  });

  it("a request does not end with the model's own words", () => {
    const history = new History({agentName: AGENT, includeContents: 'default'});
    const list = [user('go'), model('draft')];
    expect(script(history.contents(list))).toEqual(['user: go', 'model: draft', 'user: Continue.']);
    list.push(user('better'));
    expect(script(history.contents(list))).toEqual(['user: go', 'model: draft', 'user: better']);
  });
});

describe('answers that come later', () => {
  const asked = [user('refund'), model(call('a')), results([pending('a')], ['a'])];

  it('an answer at once replaces the pending response', () => {
    expect(script(contentsOf([...asked, user(result('a', {ok: true}))]))).toEqual(['user: refund', 'model: call a', 'user: a={"ok":true}']);
  });

  it('a user who speaks instead leaves the pending response in place', () => {
    expect(script(contentsOf([...asked, user('weather?')]))).toEqual([
      'user: refund',
      'model: call a',
      'user: a={"status":"pending"}',
      'user: weather?',
    ]);
  });

  it('what was said in between stands before the message that led to the calls', () => {
    const events = [user('hi'), model('hello'), ...asked, user('weather?'), model('sunny'), user(result('a', {ok: true}))];
    const answered = ['user: hi', 'model: hello', 'user: weather?', 'model: sunny', 'user: refund', 'model: call a', 'user: a={"ok":true}'];
    expect(script(contentsOf(events))).toEqual(answered);
    expect(script(contentsOf([...events, model('refunded'), user('thanks')]))).toEqual([...answered, 'model: refunded', 'user: thanks']);
  });

  it('all steps of the turn move, with the media of their results, up to the answered calls', () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'AA=='}};
    const events = [
      user('refund'),
      model(call('look')),
      results([result('look', {n: 1})]),
      model('asking', call('a')),
      results([pending('a'), image], ['a']),
      model('I have asked.'),
      user('weather?'),
      model('sunny'),
      user(result('a', {ok: true})),
    ];
    expect(script(contentsOf(events))).toEqual([
      'user: Continue.',
      'model: I have asked.',
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call look',
      'user: look={"n":1}',
      'model: asking | call a',
      'user: a={"ok":true}',
      `user: ${JSON.stringify(image)}`,
    ]);
  });

  it('text in the same message follows the responses', () => {
    const events = [...asked, user('weather?'), model('sunny'), user(result('a', {ok: true}), 'and tell me')];
    expect(script(contentsOf(events))).toEqual([
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":true}',
      'user: and tell me',
    ]);
  });

  it('nothing moves while siblings wait; the last answer moves all', () => {
    const both = [
      user('go'),
      model(call('a'), call('b')),
      results([pending('a'), pending('b')], ['a', 'b']),
      user('weather?'),
      model('sunny'),
    ];
    const first = [...both, user(result('b', {ok: 2}), 'soon')];
    expect(script(contentsOf(first))).toEqual([
      'user: go',
      'model: call a | call b',
      'user: a={"status":"pending"} | b={"ok":2}',
      'user: weather?',
      'model: sunny',
      'user: soon',
    ]);
    expect(script(contentsOf([...first, user(result('a', {ok: 1}))]))).toEqual([
      'user: weather?',
      'model: sunny',
      'user: soon',
      'user: go',
      'model: call a | call b',
      'user: a={"ok":1} | b={"ok":2}',
    ]);
  });

  it('turns that wait at the same time are answered in any order', () => {
    const other = [user('order'), model(call('b')), results([pending('b')], ['b'])];
    const waiting = [...asked, ...other, user('weather?'), model('sunny')];
    const aFirst = [...waiting, user(result('a', {ok: 1})), model('A done')];
    expect(script(contentsOf(aFirst.slice(0, -1)))).toEqual([
      'user: order',
      'model: call b',
      'user: b={"status":"pending"}',
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
    ]);
    expect(script(contentsOf([...aFirst, user(result('b', {ok: 2}))]))).toEqual([
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
      'model: A done',
      'user: order',
      'model: call b',
      'user: b={"ok":2}',
    ]);
    const atOnce = [
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
      'user: order',
      'model: call b',
      'user: b={"ok":2}',
    ];
    expect(script(contentsOf([...waiting, user(result('b', {ok: 2}), result('a', {ok: 1}))]))).toEqual(atOnce);
  });

  it('a turn whose first message is not in the session moves alone', () => {
    expect(script(contentsOf([...asked.slice(1), user('weather?'), user(result('a', {ok: true}))]))).toEqual([
      'user: weather?',
      'model: call a',
      'user: a={"ok":true}',
    ]);
  });

  it('a turn is resumed time after time', () => {
    const events = [
      ...asked,
      user('weather?'),
      model('sunny'),
      user(result('a', {ok: 1})),
      model(call('b')),
      results([pending('b')], ['b']),
      user('time?'),
      model('noon'),
      user(result('b', {ok: 2})),
    ];
    expect(script(contentsOf(events))).toEqual([
      'user: weather?',
      'model: sunny',
      'user: time?',
      'model: noon',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
      'model: call b',
      'user: b={"ok":2}',
    ]);
  });

  it('two waiting turns under one message, as sessions of other runtimes hold, stay valid', () => {
    const events = [
      user('hi'),
      model('hello'),
      ...asked,
      model(call('b')),
      results([pending('b')], ['b']),
      user('weather?'),
      model('sunny'),
      user(result('a', {ok: 1})),
    ];
    expect(script(contentsOf(events))).toEqual([
      'user: hi',
      'model: hello',
      'user: Continue.',
      'model: call b',
      'user: b={"status":"pending"}',
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
    ]);
    expect(script(contentsOf([...events.slice(0, -1), user(result('a', {ok: 1}), result('b', {ok: 2}))]))).toEqual([
      'user: hi',
      'model: hello',
      'user: weather?',
      'model: sunny',
      'user: refund',
      'model: call a',
      'user: a={"ok":1}',
      'model: call b',
      'user: b={"ok":2}',
    ]);
  });

  it("the final response may come from the agent itself, after the user's", () => {
    const events = [
      ...asked,
      user('weather?'),
      model('sunny'),
      user(result('a', {confirmed: true})),
      results([result('a', {refunded: 5})]),
    ];
    expect(script(contentsOf(events)).slice(-3)).toEqual(['user: refund', 'model: call a', 'user: a={"refunded":5}']);
  });

  it('contents given out before do not change', () => {
    const history = new History({agentName: AGENT, includeContents: 'default'});
    const list: Event[] = [...asked, user('weather?')];
    const before = history.contents(list);
    const copy = structuredClone(before);
    list.push(model('sunny'), user(result('a', {ok: true})));
    const after = history.contents(list);
    expect(before).toEqual(copy);
    expect(after).not.toBe(before);
  });
});

describe('other agents', () => {
  it('are told in words, with their media, without thoughts and signatures', () => {
    const image = {inlineData: {mimeType: 'image/png', data: 'AA=='}};
    const file = {fileData: {fileUri: 'gs://x', mimeType: 'text/plain'}};
    const events = [
      user('go'),
      event('scout', [
        {text: 'hm', thought: true},
        {text: 'I '},
        {text: 'look.', thoughtSignature: 'S'},
        call('s', 'search', {q: 'x'}),
        {...image, thoughtSignature: 'T'},
      ]),
      event('scout', [{functionResponse: {id: 's', name: 'search', response: {hits: 2}, parts: [image]}}], {}),
      event('scout', [{executableCode: {code: '1+1'}}, {codeExecutionResult: {output: '2'}}, file, {toolCall: {}}]),
    ];
    expect(contentsOf(events).slice(1)).toEqual([
      {role: 'user', parts: [{text: '[scout] said: I look.'}, {text: '[scout] called tool `search` with {"q":"x"}'}, image]},
      {role: 'user', parts: [{text: '[scout] got from `search`: {"hits":2}'}, image]},
      {role: 'user', parts: [{text: '[scout] ran code:\n1+1'}, {text: '[scout] got from the code: 2'}, file]},
    ]);
  });

  it('are told in contents that nobody can change, so that the next request tells the same', () => {
    const late = [event('scout', [call('s', 'ask')]), event('scout', [pending('s')]), user(result('s', {ok: true}, 'ask'), 'go on')];
    const contents = contentsOf([user('go'), event('scout', [{text: 'look.'}]), ...late]);
    const changeable = contents
      .flatMap((content) => [content, content.parts, ...(content.parts ?? [])])
      .filter((it) => !Object.isFrozen(it));
    expect(changeable).toEqual([]);
  });

  it('have their late answers told too', () => {
    const events = [
      user('go'),
      event('scout', [call('s', 'ask')]),
      event('scout', [pending('s')]),
      user(result('s', {ok: true}, 'ask'), 'go on'),
    ];
    expect(script(contentsOf(events)).at(-1)).toBe('user: [scout] got from `ask`: {"ok":true} | go on');
  });

  it("do not answer this agent's calls", () => {
    const events = [user('go'), model(call('a')), event('scout', [{functionResponse: {name: 'tool_a', response: {n: 1}}}])];
    expect(script(contentsOf(events)).slice(1)).toEqual(['model: call a', `user: a=${LOST}`, 'user: [scout] got from `tool_a`: {"n":1}']);
  });
});

describe('includeContents none', () => {
  const none = {includeContents: 'none'} as const;

  it("starts at the user's last message, with the calls of this turn", () => {
    const events = [user('hi'), model('hello'), user('go'), model(call('a')), results([result('a', {n: 1})])];
    expect(script(contentsOf(events, none))).toEqual(['user: go', 'model: call a', 'user: a={"n":1}']);
  });

  it('starts at the last content of another agent', () => {
    const events = [
      user('hi'),
      event('scout', [{text: 'one'}]),
      event('scout', [{text: 'two'}]),
      model(call('a')),
      results([result('a', {})]),
    ];
    expect(script(contentsOf(events, none))).toEqual(['user: [scout] said: two', 'model: call a', 'user: a={}']);
  });

  it('an answer belongs to the turn that it answers', () => {
    const events = [user('refund'), model(call('a')), results([pending('a')], ['a']), user('weather?'), model('sunny')];
    expect(script(contentsOf([...events, user('so?')], none))).toEqual(['user: so?']);
    expect(script(contentsOf([...events, user(result('a', {ok: true}), 'and?')], none))).toEqual([
      'user: refund',
      'model: call a',
      'user: a={"ok":true}',
      'user: and?',
    ]);
  });
});

describe('cost', () => {
  it('every event is read a bounded number of times, however many requests are made', () => {
    let reads = 0;
    const counted = (event: Event): Event =>
      new Proxy(event, {
        get: (target, key) => {
          reads++;
          return Reflect.get(target, key) as unknown;
        },
      });
    const history = new History({agentName: AGENT, includeContents: 'default'});
    const list: Event[] = [counted(user('go'))];
    const readsOfRequest: number[] = [];
    for (let step = 0; step < 1_000; step++) {
      const before = reads;
      expect(history.contents(list)).toHaveLength(list.length);
      readsOfRequest.push(reads - before);
      list.push(counted(model(call(`c${step}`))), counted(results([result(`c${step}`, {step})])));
    }
    expect(new Set(readsOfRequest.slice(1)).size).toBe(1);
    expect(reads / list.length).toBeLessThan(20);
  });
});
