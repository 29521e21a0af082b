import {candidates, MODES, placesOf} from '../../lib/testing/schedule-explorer/candidates.ts';
import {checkAfter} from '../../lib/testing/schedule-explorer/check-after.ts';
import {checkEnd, naturalEnd} from '../../lib/testing/schedule-explorer/check-end.ts';
import {checkSession} from '../../lib/testing/schedule-explorer/check-session.ts';
import {checkStop} from '../../lib/testing/schedule-explorer/check-stop.ts';
import {Drive} from '../../lib/testing/schedule-explorer/drive.ts';
import {PromiseJobs} from '../../lib/testing/schedule-explorer/promise-jobs.ts';
import {STOP_KINDS, tellSchedule} from '../../lib/testing/schedule-explorer/schedule.ts';
import {Violation} from '../../lib/testing/schedule-explorer/schedule-error.ts';
import {World} from '../../lib/testing/schedule-explorer/world.ts';
import {playRandom} from '../../lib/testing/schedule-explorer/random-schedules.ts';

export async function sweep(name: string, scenario: any, {max = 1500, modes = MODES, random = 200, kinds = STOP_KINDS}: any = {}) {
  using jobs = new PromiseJobs();
  const t0 = process.hrtime.bigint();
  const natural = new Map<string, any>();
  const found = new Map<string, {n: number; first: string; marks: string}>();
  let n = 0;
  const play = async (schedule: any) => {
    n++;
    const world = new World(jobs);
    let o: any;
    try {
      const s = await world.watch.foreign(async () => scenario({landmark: (x: string) => world.watch.numbered(x)}));
      o = await new Drive(world, schedule, s).play();
      const mode = `${schedule.toolExecutionMode} ${schedule.streamingMode}`;
      for (const check of [(x: any) => checkEnd(x, natural.get(mode)), checkStop, checkSession, checkAfter]) {
        try { check(o); } catch (e) { note(e, schedule, world); }
      }
      if (!natural.has(mode) && schedule.stops.length === 0 && schedule.deadlineMs === undefined) natural.set(mode, naturalEnd(o));
    } catch (e) { note(e, schedule, world); }
    finally { world[Symbol.dispose](); }
    return o;
  };
  const note = (e: any, schedule: any, world: World) => {
    const key = (e instanceof Violation ? `${e.clause}: ${e.detail}` : String(e?.stack ?? e)).replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'UUID').slice(0, 600);
    const f = found.get(key.replaceAll(/after (abort|return|throw|cancel|dispose|close)( \w+)?/g, 'after X').replaceAll(/`?(return|throw|dispose|cancel session|cancel run)`? came/g, 'X came'));
    if (f) f.n++;
    else found.set(key.replaceAll(/after (abort|return|throw|cancel|dispose|close)( \w+)?/g, 'after X').replaceAll(/`?(return|throw|dispose|cancel session|cancel run)`? came/g, 'X came'), {n: 1, first: tellSchedule(schedule), marks: world.watch.landmarks.slice(-30).join(' > ')});
    return e;
  };
  let possible = 0;
  const places: any[] = [];
  for (const mode of modes) {
    const busy = await play({...mode, stops: []});
    if (!busy) continue;
    const idle: any[] = [];
    for (let p = 1; p <= busy.reader.events.length; p++) idle.push(await play({...mode, stops: [], pauseAfter: p}));
    if (idle.some((x) => !x)) continue;
    places.push(placesOf(mode, busy, idle));
  }
  const all = places.flatMap((p) => candidates(p, kinds));
  possible = all.length;
  const step = Math.max(1, all.length / max);
  for (let i = 0; i < all.length; i += step) await play(all[Math.floor(i)]);
  if (random) await playRandom({places, kinds, count: random, seed: 1, play});
  const ms = Number(process.hrtime.bigint() - t0) / 1e6;
  console.log(`### ${name}: ${n} of ${possible}, ${ms.toFixed(0)} ms, ${found.size} kinds of fault`);
  for (const [k, f] of found) console.log(`  - [${f.n}x] ${k}\n      first: ${f.first}\n      ${f.marks}`);
}
