import {existsSync} from 'node:fs';
import {join} from 'node:path';
import {describe, expect, test} from 'vitest';
import {list, read, root} from './project.ts';

const pages = list('docs/*.md');

describe.each(pages)('%s', (page) => {
  const text = read(page);

  test('names only tests that there are', () => {
    const named = [...text.matchAll(/^- `(tests\/[^`]+)`: (.+)$/gm)].map(([, file = '', name = '']) => ({file, name}));
    const missing = named.filter(({file, name}) => !existsSync(join(root, file)) || !read(file).includes(name));
    expect({found: named.length > 0 || !text.includes('Shown by'), missing}).toEqual({found: true, missing: []});
  });

  test('links to files that there are', () => {
    const links = [...text.matchAll(/\]\((?!https?:|#)([^)#]+)/g)].map(([, target = '']) => join(root, 'docs', target));
    expect(links.filter((target) => !existsSync(target))).toEqual([]);
  });
});
