import { spawn, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { pinned, type Cores } from './cores.ts';

/**
 * Keeps the cores of the load awake with work of the lowest priority, and returns a function that ends it; undefined if that is not
 * possible.
 *
 * A process that writes to a socket wakes the process that reads from it, and pays for waking a sleeping core: some microseconds on a
 * virtual machine, counted as system time of the server. A busy load generator never sleeps, one that waits for the server sleeps after
 * every response: so a slow server would be charged for the waking on top of its cost. If nothing else runs on these cores, the load
 * generator does not sleep at all: see `polls` in `load.ts`.
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
