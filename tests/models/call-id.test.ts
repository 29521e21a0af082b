import {expect, test} from 'vitest';

import {newCallId, wireCallId} from '../../lib/models/call-id.ts';

const uuid = '11111111-2222-4333-8444-555555555555';

test('a call that the server gave no id is known to the server by none', () => {
  expect(newCallId(uuid)).toBe(`adk-${uuid}`);
  expect(wireCallId(newCallId(uuid))).toBeUndefined();
});

test.each(['call-1', 'a:b', '', 'with\nnewline', `adk-${uuid}`])(
  'a call whose server id %j was taken is known to the server by that id',
  (serverId) => {
    expect(newCallId(uuid, serverId)).toBe(`adk-${uuid}:${serverId}`);
    expect(wireCallId(newCallId(uuid, serverId))).toBe(serverId);
  },
);

test.each(['call-1', '', 'adk-1', `adk-${uuid}x`, `x-adk-${uuid}`])("an id of the server's own, %j, goes out as it is", (id) => {
  expect(wireCallId(id)).toBe(id);
});
