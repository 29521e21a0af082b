import fc from 'fast-check';
import {InvalidOptionError} from 'sluice';
import {describe, expect, test} from 'vitest';
import {readChatRequest} from '../../../lib/serve/stream/chat-request.ts';

const post = (message: object, rest: object = {}): object => ({
  id: 'chat',
  messages: [{id: 'm0', role: 'user', parts: [{type: 'text', text: 'Earlier.'}]}, message],
  trigger: 'submit-message',
  ...rest,
});
const user = (...parts: unknown[]): object => post({id: 'm1', role: 'user', parts});
const assistant = (...parts: unknown[]): object => post({id: 'm1', role: 'assistant', parts});
const waiting = (id: string): object => ({type: 'data-waiting', id, data: {}});

describe('readChatRequest', () => {
  test('takes the text and the files of the last message', () => {
    const body = user(
      {type: 'file', mediaType: 'image/png', filename: 'a.png', url: 'data:image/png;base64,iVBORw0KGgo='},
      {type: 'file', mediaType: 'application/pdf', url: 'https://files.example/a.pdf'},
      {type: 'text', text: ''},
      {type: 'data-mood', data: 'good'},
      {type: 'text', text: 'What is it?'},
    );
    expect(readChatRequest(body)).toEqual({
      sessionId: 'chat',
      trigger: 'submit-message',
      messageId: undefined,
      newMessage: {
        role: 'user',
        parts: [
          {inlineData: {mimeType: 'image/png', data: 'iVBORw0KGgo='}},
          {fileData: {mimeType: 'application/pdf', fileUri: 'https://files.example/a.pdf'}},
          {text: 'What is it?'},
        ],
      },
    });
  });

  test('takes the outputs of the calls that wait in the last step, and of no others', () => {
    const {newMessage, messageId} = readChatRequest(
      assistant(
        {type: 'step-start'},
        {type: 'tool-ask', toolCallId: 'earlier', state: 'output-available', output: 'yes'},
        waiting('earlier'),
        {type: 'step-start'},
        {type: 'tool-ask', toolCallId: 'a', state: 'output-available', output: {ok: true}},
        {type: 'dynamic-tool', toolName: 'pick', toolCallId: 'b', state: 'output-error', errorText: 'none fits'},
        {type: 'tool-look', toolCallId: 'server', state: 'output-available', output: 'seen'},
        waiting('a'),
        waiting('b'),
      ),
    );
    expect(messageId).toBe('m1');
    expect(newMessage).toEqual({
      role: 'user',
      parts: [
        {functionResponse: {id: 'a', name: 'ask', response: {ok: true}}},
        {functionResponse: {id: 'b', name: 'pick', response: {error: 'none fits'}}},
      ],
    });
  });

  test('says what it expected', () => {
    const text = {type: 'text', text: 'Hi.'};
    const cases: [unknown, string][] = [
      [undefined, 'Expected `body` to be an object with `id` and `messages`, as useChat posts it, got undefined'],
      [[], 'Expected `body`'],
      [{messages: []}, 'Expected `id` to be the id of a chat'],
      [{id: 'a\nb', messages: [{role: 'user', parts: [text]}]}, 'without control characters'],
      [{id: '..', messages: [{role: 'user', parts: [text]}]}, 'not "." or ".."'],
      [{id: 'chat', messages: 'Hi.'}, 'Expected `messages` to be an array of at least one message'],
      [{id: 'chat', messages: []}, 'Expected `messages`'],
      [{id: 'chat', messages: [null]}, 'Expected `messages[0]` to be a message'],
      [post({role: 'system', parts: [text]}), 'Expected `messages[1].role`'],
      [post({role: 'user', content: 'Hi.'}), 'Expected `messages[1].parts`'],
      [user('Hi.'), 'Expected `messages[1].parts` to be an array of parts with a `type`'],
      [user(), 'Expected `messages[1].parts` to be parts with text or files'],
      [user({type: 'text', text: 1}), 'Expected `messages[1].parts[0].text` to be a string, got 1'],
      [user({type: 'file', url: 'https://a.example'}), 'Expected `messages[1].parts[0].mediaType`'],
      [user({type: 'file', mediaType: 'image/png', url: 'file:///etc/passwd'}), 'Expected `messages[1].parts[0].url`'],
      [user({type: 'file', mediaType: 'image/png', url: 'data:image/png,<raw>'}), 'or a `data:` URL in base64'],
      [post({role: 'user', parts: [text]}, {trigger: 'resume'}), 'Expected `trigger`'],
      [assistant(text), 'parts with calls that wait for an output, in the last step of the message'],
      [
        assistant({type: 'tool-ask', toolCallId: 'a', state: 'input-available'}, waiting('a')),
        'outputs for all calls that wait, also for `a`, got "input-available"',
      ],
      [
        assistant({type: 'tool-ask', toolCallId: 'a', state: 'output-available', output: 1, preliminary: true}, waiting('a')),
        'also for `a`',
      ],
      [
        post({role: 'assistant', parts: [{type: 'tool-ask', toolCallId: 'a', state: 'output-available'}, waiting('a')]}),
        '`messages[1].id`',
      ],
    ];
    for (const [body, message] of cases) {
      expect(() => readChatRequest(body)).toThrow(InvalidOptionError);
      expect(() => readChatRequest(body)).toThrow(message);
    }
  });

  test('takes anything that JSON can be, or refuses it by its own error', () => {
    const json = fc.jsonValue({maxDepth: 1});
    const part = fc.record(
      {
        type: fc.constantFrom('text', 'file', 'tool-ask', 'data-waiting', 'step-start', 'dynamic-tool'),
        id: fc.constantFrom('a', 'b'),
        toolCallId: fc.oneof(fc.constantFrom('a', 'b'), json),
        text: json,
        url: fc.oneof(fc.string(), fc.constant('data:;base64,'), json),
        mediaType: fc.oneof(fc.string(), json),
        state: fc.constantFrom('output-available', 'output-error'),
        output: json,
        errorText: json,
      },
      {requiredKeys: ['type']},
    );
    const message = fc.record({id: json, role: fc.constantFrom('user', 'assistant'), parts: fc.array(part)});
    const body = fc.oneof(json, fc.record({id: fc.string(), messages: fc.array(message)}));
    fc.assert(
      fc.property(body, (it) => {
        try {
          expect(readChatRequest(it).newMessage.parts?.length).toBeGreaterThan(0);
        } catch (error) {
          if (!(error instanceof InvalidOptionError)) throw error;
        }
      }),
      {numRuns: 150},
    );
  });
});
