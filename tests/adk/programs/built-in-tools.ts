import {call, says, type Program} from '../stage.ts';

/** The tools that load memories and files, and a file in an instruction. */
export const program: Program = async (names, {model, read}) => {
  const {InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService, LOAD_ARTIFACTS, LOAD_MEMORY, PRELOAD_MEMORY} = names;
  const {LlmAgent, Runner, createEvent} = names;
  const agent = new LlmAgent({
    name: 'reader',
    model: model('reader', [
      [call('load_memory', {query: 'key'})],
      [call('load_artifacts', {artifact_names: ['note.txt']})],
      'Under the mat.',
    ]),
    instruction: 'Answer with {artifact.note.txt}.',
    tools: [PRELOAD_MEMORY, LOAD_MEMORY, LOAD_ARTIFACTS],
  });
  const sessionService = new InMemorySessionService();
  const artifactService = new InMemoryArtifactService();
  const memoryService = new InMemoryMemoryService();
  const old = await sessionService.createSession({appName: 'notes', userId: 'ada', sessionId: 'old'});
  await sessionService.appendEvent({
    session: old,
    event: createEvent({author: 'user', timestamp: 1_000, content: says('The key is under the mat.')}),
  });
  await memoryService.addSessionToMemory(old);
  await sessionService.createSession({appName: 'notes', userId: 'ada', sessionId: 'new'});
  const artifact = {text: 'the mat'};
  await artifactService.saveArtifact({appName: 'notes', userId: 'ada', sessionId: 'new', filename: 'note.txt', artifact});
  const runner = new Runner({appName: 'notes', agent, sessionService, artifactService, memoryService});
  for await (const event of runner.runAsync({userId: 'ada', sessionId: 'new', newMessage: says('Where is the key?')})) read(event);
};
