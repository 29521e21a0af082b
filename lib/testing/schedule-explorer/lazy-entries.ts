/** Loads what a run loads by itself when it first needs it: that takes real time, of which the clock of a play knows nothing. */
export async function loadLazyEntries(): Promise<void> {
  await Promise.all([import('sluice/answers'), import('sluice/arguments'), import('sluice/flow'), import('sluice/plugins')]);
}
