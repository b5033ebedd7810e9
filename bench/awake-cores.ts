import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pinned, type Cores } from './cores.ts';

/**
 * Keeps the cores of the load from going to sleep, by work of the lowest priority there is, and answers with what ends
 * it; undefined where that cannot be had.
 *
 * Whoever writes to a socket wakes the process that reads from it, and pays for the waking of a core that sleeps: some
 * microseconds on a virtual machine, counted as system time of the server. A load generator with more to do than it can
 * sleeps never, one that waits for the server sleeps after every answer: so a server would be charged for being slower
 * than the load generator, on top of what it costs. Where nothing else is on these cores, the load generator does better,
 * and does not sleep at all: see `polls` in `load.ts`.
 */
export function keepAwake({ load }: Cores): (() => void) | undefined {
  if (load === undefined || spawnSync('chrt', ['--idle', '0', 'true'], { stdio: 'ignore' }).status !== 0) {
    return undefined;
  }
  const file = fileURLToPath(new URL('./spinner.ts', import.meta.url));
  const spinners = load.split(',').map((core) => {
    const [command, args] = pinned(core, 'chrt', ['--idle', '0', process.execPath, file]);
    return spawn(command, args, { stdio: ['ignore', 'ignore', 'inherit', 'ipc'] });
  });
  return () => {
    for (const spinner of spinners) spinner.kill();
  };
}
