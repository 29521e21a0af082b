import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {collect, functionCalls} from 'sluice/testing';
import * as threads from '../../lib/workers/index.ts';
import * as noThreads from '../../lib/workers/no-threads.ts';
import {manifest, root} from '../package/project.ts';
import {line, stage} from '../stories/kit.ts';
import {workerTool} from './kit.ts';

describe('sluice/workers where there are no threads', () => {
  test('exports what it exports elsewhere', () => {
    expect(Object.keys(noThreads).toSorted()).toEqual(Object.keys(threads).toSorted());
  });

  test('refuses a call by its tool, and the run goes on', async () => {
    const it = await stage({
      steps: [functionCalls({name: 'thread', args: {}}), 'done'],
      agent: {tools: [workerTool('thread')], executor: new noThreads.WorkerPool()},
    });
    const {events} = await collect(it.run());
    expect(events.map(line)).toEqual([
      'root: thread({})',
      expect.stringMatching(/^root: thread=\{"error":"The tool `thread` has its body on a worker thread, and this runtime has none\. /),
      'root: "done"',
    ]);
    await it.runner.close();
  });

  test.each(['workerd', 'edge-light', 'browser'])('is what the condition `%s` of the exports map gives', (condition) => {
    const target = manifest().exports['./workers'];
    const file = typeof target === 'object' ? target[condition] : undefined;
    expect(file).toBe('./dist/workers/no-threads.js');
    expect(existsSync(join(root, file ?? ''))).toBe(true);
  });
});
