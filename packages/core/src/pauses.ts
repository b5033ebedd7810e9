const FIRST_PAUSE_MS = 2;
const LONGEST_PAUSE_MS = 50;

/**
 * The pauses between tries at what others hold, in milliseconds: each about twice as long as the one before, up to a longest one.
 * Chance keeps those who wait for one another from trying at the same times again. They have no end; whoever waits sets one.
 */
export function* pauses(): Generator<number, never> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    yield pauseMs * (0.5 + Math.random());
  }
}
