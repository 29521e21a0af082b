/** The bodies of the demo's blocking tools, in a file of their own: a thread loads it, and finds nothing else to run. */

/** Blocks its thread for 400 ms, as a synchronous driver does that waits for its database. */
export function look({shelf}: {shelf: string}): object {
  const start = performance.timeOrigin + performance.now();
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
  return {shelf, start, end: performance.timeOrigin + performance.now()};
}
