import {afterEach, describe, expect, test, vi} from 'vitest';
import {toBase64} from '../../lib/tools/media-part.ts';

afterEach(() => {
  vi.unstubAllGlobals();
});

describe.each([
  ['with', Buffer],
  ['without', undefined],
])('bytes as base64, %s a Buffer', (_, host) => {
  test.each([0, 1, 2, 3, 4, 3_071, 3_072, 3_073, 200_000])('%i of them', (length) => {
    const bytes = Uint8Array.from({length}, (__, index) => index * 7);
    const expected = Buffer.from(bytes).toString('base64');
    // A view that does not begin where its buffer does.
    const view = new Uint8Array([255, ...bytes]).subarray(1);
    vi.stubGlobal('Buffer', host);
    expect(toBase64(view)).toBe(expected);
  });
});
