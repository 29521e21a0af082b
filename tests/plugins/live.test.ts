import {describe, expect, test} from 'vitest';
import {HookError} from 'sluice';
import {bye, expectValidLive, liveLine, liveStage} from '../live/kit.ts';
import {echo, noting, pluginOf} from './kit.ts';

test('a live run calls the hooks in their order, and afterRunCallback last', async () => {
  const log: string[] = [];
  await using it = await liveStage({agent: {tools: [echo]}, runner: {plugins: [noting('all', log)]}});
  const {session, reading} = await it.talk();
  session.toolCall([{id: 'c1', name: 'echo', args: {}}]);
  await session.message('toolResponse');
  const {outcome} = await it.finish(session, reading);
  expect(outcome.kind).toBe('done');
  const hooks = log.map((entry) => entry.replace(/all (\w+?)(Callback)?$/, '$1'));
  expect(hooks.filter((hook) => !/^(afterModel|onEvent)$/.test(hook))).toEqual([
    'beforeRun',
    'beforeAgent',
    'beforeModel',
    'beforeTool',
    'afterTool',
    'afterAgent',
    'afterRun',
  ]);
  expect(hooks.filter((hook) => hook === 'onEvent')).toHaveLength((await it.stored()).length);
  expectValidLive(await it.stage.stored());
});

describe('onEventCallback of a live run', () => {
  test('rewrites whole events before they are stored, those of the user too, and sees no pieces', async () => {
    const seen: string[] = [];
    await using it = await liveStage({
      runner: {
        plugins: [
          pluginOf('censor', {
            onEventCallback: ({event}) => {
              seen.push(liveLine(event));
              for (const part of event.content?.parts ?? []) if (part.text) part.text = part.text.toUpperCase();
            },
          }),
        ],
      },
    });
    const {session, reading} = await it.talk('hi');
    const {events} = await it.finish(session, reading);
    expect(seen).toEqual(['user: "hi"', bye[1]]);
    expect(await it.stored()).toEqual(['user: "HI"', 'root: "BYE." [turn complete]']);
    expect(events.map(liveLine)).toEqual([bye[0], 'root: "BYE." [turn complete]']);
  });

  test('that throws ends the run with its error and closes the connection', async () => {
    await using it = await liveStage({
      runner: {
        plugins: [
          pluginOf('bad', {
            onEventCallback: ({event}) => {
              if (event.author === 'root') throw new Error('not that');
            },
          }),
        ],
      },
    });
    const {session, reading} = await it.talk('hi');
    session.say('Hello.');
    session.completeTurn();
    const {error, outcome} = await reading.end;
    expect(error).toBeInstanceOf(HookError);
    expect(error).toMatchObject({hook: 'onEventCallback', message: '`onEventCallback` of `bad` threw: not that'});
    expect(outcome.kind).toBe('error');
    await session.closed;
    expect(it.queue.closed).toBe(true);
  });
});

test('content of beforeRunCallback stands in for a live run: nothing is connected', async () => {
  const log: string[] = [];
  const plugin = noting('all', log, {beforeRunCallback: () => ({parts: [{text: 'closed'}]})});
  await using it = await liveStage({runner: {plugins: [plugin]}});
  const {events, outcome} = await it.read().end;
  expect(outcome.kind).toBe('done');
  expect(events.map(liveLine)).toEqual(['root: "closed"']);
  expect(it.server.sessions).toEqual([]);
  expect(log).toEqual(['all beforeRunCallback', 'all onEventCallback', 'all afterRunCallback']);
});

test('a live run that its reader leaves calls afterRunCallback once, behind all that is stored, and no hook for errors', async () => {
  const log: string[] = [];
  await using it = await liveStage({runner: {plugins: [noting('all', log)]}});
  const {session, reading} = await it.talk('hi');
  session.say('Hello');
  await reading.until('root: "Hello" [partial]');
  await reading.run.return();
  expect((await reading.run.settled).kind).toBe('return');
  expect(log.filter((entry) => /afterRun|Error/.test(entry))).toEqual(['all afterRunCallback']);
  expect(log.at(-1)).toBe('all afterRunCallback');
  expect(await it.stored()).toEqual(['user: "hi"', 'root: "Hello" [stopped]']);
});
