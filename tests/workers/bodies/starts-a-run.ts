import {BaseLlm, InMemoryRunner, LlmAgent, type LlmResponse} from '../../../lib/index.ts';

class Silent extends BaseLlm {
  async *generateContentAsync(): AsyncGenerator<LlmResponse, void, undefined> {
    yield {content: {role: 'model', parts: [{text: 'hello'}]}};
  }
}

/** Within a body a run may be started. */
export async function nested(): Promise<string[]> {
  const runner = new InMemoryRunner({agent: new LlmAgent({name: 'inner', model: new Silent({model: 'silent'})})});
  const texts: string[] = [];
  for await (const {content} of runner.runEphemeral({userId: 'u', newMessage: {parts: [{text: 'go'}]}}))
    texts.push(content?.parts?.[0]?.text ?? '');
  return texts;
}
