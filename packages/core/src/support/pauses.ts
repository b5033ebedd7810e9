const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/**
 * The pauses between attempts to get something that others hold, in milliseconds. Each is about twice as long as the
 * one before, up to a maximum. A random part keeps waiters from trying again at the same time. The sequence is
 * infinite; the caller limits it.
 */
export function* pauses(): Generator<number, never> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    yield pauseMs * (0.5 + Math.random());
  }
}
