import {isMainThread} from 'node:worker_threads';

/** What a program's `--import` does to each of its threads. */
if (!isMainThread)
  switch (new URL(import.meta.url).search) {
    case '?exit':
      process.exit(4);
    case '?throw':
      throw new Error('the preload failed');
    case '?spin':
      for (;;);
    case '?wait':
      // Longer than the tool may take.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_000);
  }
