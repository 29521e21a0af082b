import {expect, test} from 'vitest';
import {InMemorySessionService} from 'sluice';

test('getOrCreateSession() gives the session that there is, and creates it once', async () => {
  const service = new InMemorySessionService();
  const key = {appName: 'app', userId: 'u', sessionId: 's'};
  const made = await service.getOrCreateSession({...key, state: {n: 1}});
  expect(made).toMatchObject({id: 's', state: {n: 1}, events: []});
  expect(await service.getOrCreateSession({...key, state: {n: 2}})).toMatchObject({id: 's', state: {n: 1}});
  expect((await service.listSessions({appName: 'app', userId: 'u'})).sessions).toHaveLength(1);
});
