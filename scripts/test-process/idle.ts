import { execFileSync } from 'node:child_process';

/** How often the processor time of a process is read, in milliseconds. */
const SAMPLE_MS = 2000;
/** A process that waits for something that never happens uses less processor time than this, in seconds. */
const IDLE_SECONDS = 0.5;

/**
 * Calls a function once if a process and its children have used almost no processor time for a while. A slow machine does not
 * make a process idle, so no limit in wall-clock time decides about a test. Does nothing where `ps` does not exist (Windows).
 *
 * @param idleMs how long they may be idle, in milliseconds
 * @returns a function that ends the watch
 */
export function watchIdle(pid: number, idleMs: number, onIdle: () => void): () => void {
  let [known, since] = [0, Date.now()];
  const timer = setInterval(() => {
    const seconds = secondsOf(pid);
    if (seconds === undefined || Math.abs(seconds - known) > IDLE_SECONDS) {
      [known, since] = [seconds ?? known, Date.now()];
    } else if (Date.now() - since > idleMs) {
      clearInterval(timer);
      onIdle();
    }
  }, SAMPLE_MS);
  timer.unref();
  return () => clearInterval(timer);
}

/** The processor time of a process and all below it, in seconds; undefined if it cannot be read. */
function secondsOf(pid: number): number | undefined {
  try {
    const table = execFileSync('ps', ['-A', '-o', 'pid=,ppid=,time='], { encoding: 'utf8', maxBuffer: 2 ** 24 });
    const rows = table.trim().split('\n').map(rowOf);
    const tree = new Set([pid]);
    // A child is listed after its parent, unless process ids have begun again. Then it counts one sample later.
    for (const row of rows) if (tree.has(row.parent)) tree.add(row.pid);
    return rows.filter((row) => tree.has(row.pid)).reduce((sum, { seconds }) => sum + seconds, 0);
  } catch {
    return undefined;
  }
}

/** Reads a line such as `  4711     1 1-02:03:04`, or `0:01.50` on macOS. */
function rowOf(line: string): { readonly pid: number; readonly parent: number; readonly seconds: number } {
  const [pid, parent, time = ''] = line.trim().split(/\s+/);
  const [clock = '', days = '0'] = time.split('-').toReversed();
  const seconds = clock.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  return { pid: Number(pid), parent: Number(parent), seconds: Number(days) * 86_400 + seconds };
}
