/** What may run side by side, as ranges of call order. An exclusive call is a range of its own, and so is every call when they go one by one. */
export function waves(calls: readonly {readonly exclusive: boolean}[], oneByOne: boolean): {start: number; end: number}[] {
  const ranges: {start: number; end: number}[] = [];
  let start = 0;
  for (let at = 0; at < calls.length; at++) {
    const alone = oneByOne || calls[at]?.exclusive === true;
    if (alone && at > start) ranges.push({start, end: at});
    if (alone) ranges.push({start: at, end: at + 1});
    if (alone) start = at + 1;
  }
  if (start < calls.length) ranges.push({start, end: calls.length});
  return ranges;
}
