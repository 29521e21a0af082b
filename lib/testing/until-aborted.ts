/** What `promise` gives, or a throw of the signal's reason as soon as that fires. Leaves no listener behind. */
export function untilAborted<T>(promise: PromiseLike<T>, abortSignal: AbortSignal | undefined): Promise<T> {
  if (!abortSignal) return Promise.resolve(promise);
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(abortSignal.reason);
    if (abortSignal.aborted) stop();
    else abortSignal.addEventListener('abort', stop, {once: true});
    const unlink = (): void => abortSignal.removeEventListener('abort', stop);
    promise.then(
      (value) => {
        unlink();
        resolve(value);
      },
      (error: unknown) => {
        unlink();
        reject(error);
      },
    );
  });
}
