/**
 * Runs a handler and waits for it, at most `limitMs`. JavaScript cannot stop a handler: after the limit it may still
 * run, with a signal that has aborted.
 *
 * @throws what the handler throws, or an Error after the limit
 */
export async function within(limitMs: number, abort: AbortController, run: () => unknown): Promise<void> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const error = new Error(`the handler did not end within ${limitMs} ms`);
    abort.abort(error);
    late.reject(error);
  }, limitMs);
  // A handler that never ends must not keep the process alive after `stop()`.
  timer.unref();
  try {
    await Promise.race([run(), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}
