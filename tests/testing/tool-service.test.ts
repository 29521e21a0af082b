import {afterEach, beforeEach, describe, expect, test, vi} from 'vitest';
import {ManualClock, ToolService} from '../../lib/testing/index.ts';

let service: ToolService;
beforeEach(async () => {
  service = await ToolService.start({delayMs: 20});
});
afterEach(() => service.close());

describe('ToolService', () => {
  test('echoes what it got, after its delay', async () => {
    const response = await fetch(`${service.url}/weather/today?city=Paris&unit=C`);
    expect(response.headers.get('content-type')).toBe('application/json');
    const echo = {method: 'GET', path: '/weather/today', query: {city: 'Paris', unit: 'C'}, body: ''};
    expect(await response.json()).toEqual(echo);
    const [request] = service.requests;
    expect(request).toMatchObject({...echo, closedEarly: false});
    expect(await request?.closed).toMatchObject({early: false});
    // Timers may fire a millisecond early by the finer clock.
    expect((request?.endedAt ?? 0) - (request?.startedAt ?? 0)).toBeGreaterThanOrEqual(19);
  });

  test('takes a body', async () => {
    const response = await fetch(service.url, {method: 'POST', body: '{"a":1}'});
    expect(await response.json()).toEqual({method: 'POST', path: '/', query: {}, body: '{"a":1}'});
  });

  test('answers in the order of the delays that a function gives', async () => {
    await using varied = await ToolService.start({delayMs: ({query}) => Number(query['ms'])});
    const done: string[] = [];
    await Promise.all(['60', '1'].map(async (ms) => done.push(await (await fetch(`${varied.url}/?ms=${ms}`)).text())));
    expect(done.map((text) => (JSON.parse(text) as {query: {ms: string}}).query.ms)).toEqual(['1', '60']);
  });

  test('sees a caller that leaves, and when', async () => {
    await using patient = await ToolService.start({delayMs: 60_000});
    const stop = new AbortController();
    const call = fetch(`${patient.url}/slow`, {signal: stop.signal});
    const request = await patient.nextRequest();
    expect([request.endedAt, request.closedEarly]).toEqual([undefined, false]);
    stop.abort();
    await expect(call).rejects.toThrow('aborted');
    const {early, afterMs} = await request.closed;
    expect([early, request.closedEarly]).toEqual([true, true]);
    expect(request.endedAt).toBe(request.startedAt + afterMs);
  });

  test('ends what is open when it closes, which is no caller that left', async () => {
    const patient = await ToolService.start({delayMs: 60_000});
    const call = fetch(patient.url);
    const request = await patient.nextRequest();
    await patient.close();
    await expect(call).rejects.toThrow('fetch failed');
    expect(await request.closed).toMatchObject({early: false});
    await patient.close();
    await expect(fetch(patient.url)).rejects.toThrow('fetch failed');
  });

  test('keeps to real time, whatever clock the test has installed', async () => {
    const clock = ManualClock.install();
    try {
      await (await fetch(service.url)).text();
    } finally {
      clock.uninstall();
    }
    vi.useFakeTimers();
    try {
      await (await fetch(service.url)).text();
    } finally {
      vi.useRealTimers();
    }
    for (const {closed} of service.requests) expect((await closed).afterMs).toBeGreaterThan(15);
  });

  test('refuses a delay that is none', async () => {
    await expect(ToolService.start({delayMs: Number.NaN})).rejects.toThrow(
      'Expected `delayMs` to be 0 or more, or a function, got NaN (number)',
    );
  });
});
