import {says, type Program} from '../stage.ts';

/** A run without a session of its own, with an instruction that is a function. */
export const program: Program = async ({InMemoryRunner, LlmAgent, stringifyContent}, {model, note, read}) => {
  const rootAgent = new LlmAgent({
    name: 'reader',
    model: model('reader', ['Read.']),
    instruction: (context) => `Read for ${context.state.get<string>('reader')}, with {braces}.`,
  });
  const runner = new InMemoryRunner({agent: rootAgent, appName: 'readings'});
  const texts: string[] = [];
  const run = runner.runEphemeral({userId: 'ada', newMessage: says('Read this.'), stateDelta: {reader: 'Ada'}});
  for await (const event of run) {
    read(event);
    texts.push(stringifyContent(event));
  }
  const {sessions} = await runner.sessionService.listSessions({appName: 'readings', userId: 'ada'});
  note('texts', texts);
  note('sessions left', sessions.length);
};
