/** Where recorded clients did otherwise than Sluice does: what they did, in which conversations, and what Sluice sends instead. */
import type {Content, Part} from '../../lib/content.ts';
import type {Conversation} from './conversations.ts';

export interface Difference {
  /** What the recorded client did, and why Sluice does not. */
  readonly why: string;
  readonly conversations: readonly string[];
  /** What Sluice sends in place of these recorded contents. */
  rewrite(contents: readonly Content[], conversation: Conversation): readonly Content[];
}

/** The differences that a conversation has, in the order in which they are to be applied. */
export function differencesIn({name}: Conversation): readonly Difference[] {
  return Object.values(differences).filter(({conversations}) => conversations.includes(name));
}

export const differences: Readonly<Record<string, Difference>> = {
  madeUpIds: {
    why: 'It gave calls ids of its own and sent them to the server. Sluice sends an id exactly where the server gave one.',
    conversations: [
      'llm-gemini/test_tools.yaml',
      'pydantic-ai/test_google/test_google_instructions_only_with_tool_calls.yaml',
      'pydantic-ai/test_google/test_google_model_iter_stream.yaml',
      'pydantic-ai/test_google/test_google_model_structured_output.yaml',
      'pydantic-ai/test_google/test_google_prompted_output_with_tools.yaml',
      'pydantic-ai/test_google/test_google_streaming_tool_call_thought_signature.yaml',
      'pydantic-ai/test_google/test_google_tool_config_any_with_tool_without_args.yaml',
      'pydantic-ai/test_google/test_google_tool_output.yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-document-google_gemini3].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-document-google_vertex].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-image-google_gemini3].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-image-google_vertex].yaml',
      'pydantic-ai/test_output/test_google_default_tools_use_validated_mode.yaml',
      'pydantic-ai/test_output/test_google_validated_accepts_strict_incompatible_schema.yaml',
      'pydantic-ai/test_output/test_google_validated_accepts_what_auto_accepts[auto].yaml',
      'pydantic-ai/test_output/test_google_validated_accepts_what_auto_accepts[validated].yaml',
      'pydantic-ai/test_tool_choice_matrix/test_tool_choice_matrix[tools_plus_output-google].yaml',
      'js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_streaming_function_calling_arguments_stream.json',
    ],
    rewrite: (contents, {exchanges}) => {
      const given = new Set(exchanges.flatMap((exchange) => exchange.expect.calls.map(({id}) => id)));
      const isMadeUp = (id: string | undefined): boolean => id !== undefined && !given.has(id);
      return eachPart(contents, (part) => {
        const {functionCall: call, functionResponse: response} = part;
        if (isMadeUp(call?.id)) return [{...part, functionCall: without(call, 'id')}];
        return isMadeUp(response?.id) ? [{...part, functionResponse: without(response, 'id')}] : [part];
      });
    },
  },
  piecesApart: {
    why: 'It sent each piece of a text back as a part or a content of its own. Sluice joins a text: one reply is one content.',
    conversations: [
      'js-genai/AFC_Streaming_Tests_chat_stream_AFC_enabled_Google_AI_chat_stream.json',
      'js-genai/AFC_Streaming_Tests_chat_stream_AFC_enabled_Vertex_AI_chat_stream.json',
      'js-genai/Chats_Tests_sendMessage_Google_AI_multiple_messages_stream.json',
      'js-genai/Chats_Tests_sendMessage_Vertex_AI_multilple_messages_stream.json',
      'js-genai/Chats_Tests_sendMessage_multiple_messages_with_server_side_MCP_tools.json',
      'js-genai/Chats_Tests_sendMessage_multiple_messages_with_server_side_MCP_tools_stream.json',
    ],
    rewrite: (contents) => {
      const joined: Content[] = [];
      for (const content of contents) {
        const last = joined.at(-1);
        const parts = content.parts ?? [];
        if (content.role === 'model' && last?.role === 'model') last.parts = [...(last.parts ?? []), ...parts];
        else joined.push({...content, parts: [...parts]});
      }
      return joined.map((content) => (content.role === 'model' ? {...content, parts: joinTexts(content.parts ?? [])} : content));
    },
  },
  noResponse: {
    why:
      'Its user spoke instead of answering a call, and it left the call without a response, which Gemini refuses by now. Sluice sends ' +
      'what is known of the call: here the tools are long-running, and it is pending.',
    conversations: [
      'js-genai/Chats_Tests_chats_function_calling_Google_AI_with_function_calling.json',
      'js-genai/Chats_Tests_chats_function_calling_Google_AI_with_function_calling_stream.json',
      'js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_function_calling.json',
      'js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_function_calling_stream.json',
    ],
    rewrite: (contents) =>
      contents.flatMap((content) => {
        const calls = (content.parts ?? []).flatMap(({functionCall}) => functionCall ?? []);
        const parts = calls.map(({name = ''}): Part => ({functionResponse: {name, response: {status: 'pending'}}}));
        return parts.length > 0 ? [content, {role: 'user', parts}] : [content];
      }),
  },
  partialArgs: {
    why: 'It sent a call back in the fragments in which its arguments were streamed. Sluice puts them together.',
    conversations: ['js-genai/Chats_Tests_chats_function_calling_Vertex_AI_with_streaming_function_calling_arguments_stream.json'],
    rewrite: (contents, {exchanges}) =>
      eachPart(contents, (part) => {
        if (part.functionCall?.partialArgs === undefined) return [part];
        return [{...part, functionCall: {...without(part.functionCall, 'partialArgs'), args: {...exchanges[0]?.expect.calls[0]?.args}}}];
      }),
  },
  emptyReply: {
    why: 'Its history holds a text that is empty. Sluice sends nothing that is empty: some servers refuse that.',
    conversations: [
      'js-genai/Chats_Tests_sendMessage_Google_AI_with_empty_text.json',
      'js-genai/Chats_Tests_sendMessage_Google_AI_with_empty_text_stream.json',
      'js-genai/Chats_Tests_sendMessage_Vertex_AI_with_empty_text.json',
      'js-genai/Chats_Tests_sendMessage_Vertex_AI_with_empty_text_stream.json',
      'llm-gemini/test_tools_with_gemini_3_thought_signatures.yaml',
      'pydantic-ai/test_google/test_google_model_empty_assistant_response.yaml',
    ],
    rewrite: (contents) =>
      eachPart(contents, (part) => (part.text === '' && part.thoughtSignature === undefined ? [] : [part])).filter(
        ({parts}) => parts?.length !== 0,
      ),
  },
  emptyMessage: {
    why: 'Its user said nothing at all, which Sluice refuses. In the replay the user says something.',
    conversations: ['pydantic-ai/test_google/test_google_instructions_only_with_tool_calls.yaml'],
    rewrite: (contents) => contents.map((content) => (isEmptyMessage(content) ? SAYS_SOMETHING : content)),
  },
  standInSignature: {
    why: "It signed a call for which the server had given no signature, with the value that turns Gemini 3's check off.",
    conversations: ['pydantic-ai/test_google/test_google_model_structured_output.yaml'],
    rewrite: (contents) =>
      eachPart(contents, (part) => [
        part.thoughtSignature === btoa('skip_thought_signature_validator') ? without(part, 'thoughtSignature') : part,
      ]),
  },
  noThoughts: {
    why: 'It left out the thoughts that came before a call. Sluice sends a reply back as it came.',
    conversations: ['llm-gemini/test_tools.yaml'],
    rewrite: (contents, {exchanges}) => {
      let reply = 0;
      return contents.map((content) => {
        const thoughts = content.role === 'model' ? exchanges[reply++]?.expect.thoughts : '';
        return thoughts ? {...content, parts: [{text: thoughts, thought: true}, ...(content.parts ?? [])]} : content;
      });
    },
  },
  mediaWithoutWord: {
    why: 'It sent the media of a result beside a response that says nothing of them. Sluice names them in the response, by their place.',
    conversations: [
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-document-google_gemini3].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-document-google_vertex].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-image-google_gemini3].yaml',
      'pydantic-ai/test_multimodal_tool_returns/test_multimodal_tool_return_matrix[direct-uploaded_file-image-google_vertex].yaml',
    ],
    rewrite: (contents) =>
      eachPart(contents, (part) => {
        const {functionResponse} = part;
        const mimeType = functionResponse?.parts?.[0]?.fileData?.mimeType;
        if (mimeType === undefined) return [part];
        return [{...part, functionResponse: {...functionResponse, response: {result: {attachment: 1, mimeType}}}}];
      }),
  },
};

export const SAYS_SOMETHING: Content = {role: 'user', parts: [{text: 'Go.'}]};

export function isEmptyMessage({role, parts = []}: Content): boolean {
  return role === 'user' && parts.every(({text}) => text === '');
}

function eachPart(contents: readonly Content[], change: (part: Part) => readonly Part[]): Content[] {
  return contents.map((content) => ({...content, parts: (content.parts ?? []).flatMap(change)}));
}

function without<T extends object>(value: T | undefined, key: keyof T): T {
  const copy = {...value} as T;
  delete copy[key];
  return copy;
}

function joinTexts(parts: readonly Part[]): Part[] {
  const joined: Part[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    const plain = [last, part].every((it) => it?.text !== undefined && Object.keys(it).length === 1);
    if (last && plain) joined[joined.length - 1] = {text: `${last.text}${part.text}`};
    else joined.push(part);
  }
  return joined;
}
