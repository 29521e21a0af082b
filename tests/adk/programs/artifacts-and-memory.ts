import {z} from 'zod';
import {call, says, type Program} from '../stage.ts';

/** A tool that saves a file and another that reads it; then a second session that remembers the first. */
export const program: Program = async (
  {FunctionTool, InMemoryArtifactService, InMemoryMemoryService, InMemorySessionService, LlmAgent, Runner},
  {model, note, read},
) => {
  const save = new FunctionTool({
    name: 'save_note',
    description: 'Saves a note.',
    parameters: z.object({text: z.string()}),
    execute: async ({text}, context) => ({version: await context?.saveArtifact('note.txt', {text})}),
  });
  const load = new FunctionTool({
    name: 'load_note',
    description: 'Loads the note.',
    execute: async (_, context) => ({names: await context?.listArtifacts(), note: await context?.loadArtifact('note.txt')}),
  });
  const recall = new FunctionTool({
    name: 'recall',
    description: 'Searches the memory.',
    parameters: z.object({query: z.string()}),
    execute: async ({query}, context) => {
      const {memories} = (await context?.searchMemory(query)) ?? {memories: []};
      return {found: memories.map(({author, content}) => ({author, text: content.parts?.[0]?.text}))};
    },
  });
  const rootAgent = new LlmAgent({
    name: 'secretary',
    model: model('secretary', [
      [call('save_note', {text: 'The key is under the mat.'})],
      [call('load_note')],
      'Your note is saved.',
      [call('recall', {query: 'key'})],
      'You noted where it is.',
    ]),
    tools: [save, load, recall],
  });
  const sessionService = new InMemorySessionService();
  const artifactService = new InMemoryArtifactService();
  const memoryService = new InMemoryMemoryService();
  const runner = new Runner({appName: 'notes', agent: rootAgent, sessionService, artifactService, memoryService});
  for (const [sessionId, text] of [
    ['one', 'Note: the key is under the mat.'],
    ['two', 'Where is it?'],
  ] as const) {
    await sessionService.createSession({appName: 'notes', userId: 'ada', sessionId});
    for await (const event of runner.runAsync({userId: 'ada', sessionId, newMessage: says(text)})) read(event);
    const session = await sessionService.getSession({appName: 'notes', userId: 'ada', sessionId});
    if (session) await memoryService.addSessionToMemory(session);
  }
  note('versions', await artifactService.listVersions({appName: 'notes', userId: 'ada', sessionId: 'one', filename: 'note.txt'}));
};
