import { execFileSync } from 'node:child_process';
import { availableParallelism } from 'node:os';

/** The cores of each process; undefined without taskset or a second core: processes are then not pinned. */
export interface Cores {
  /** The core of the server under load, alone. */
  readonly server: string | undefined;
  /** The other cores: the load generator, and the database server if the benchmark starts it. */
  readonly load: string | undefined;
}

/**
 * Reserves the last of the cores of this process for the servers, and moves this process, and the processes that it starts from now on, to
 * the others.
 */
export function divideCores(): Cores {
  const allowed = allowedCores();
  const server = allowed.at(-1);
  if (allowed.length < 2 || server === undefined) return { server: undefined, load: undefined };
  const load = allowed.slice(0, -1).join(',');
  execFileSync('taskset', ['--all-tasks', '--cpu-list', '--pid', load, String(process.pid)], { stdio: 'ignore' });
  return { server: String(server), load };
}

/** A command and its arguments, made to run on the given cores alone. */
export function pinned(cores: string | undefined, command: string, args: readonly string[]): [string, string[]] {
  return cores === undefined ? [command, [...args]] : ['taskset', ['--cpu-list', cores, command, ...args]];
}

function allowedCores(): number[] {
  try {
    const answer = execFileSync('taskset', ['--cpu-list', '--pid', String(process.pid)], { encoding: 'utf8' });
    return parseCoreList(answer.slice(answer.lastIndexOf(':') + 1));
  } catch {
    console.error(`taskset is not here: ${availableParallelism()} cores are shared by the server and its load`);
    return [];
  }
}

/** `0-2,5` → 0, 1, 2, 5. */
function parseCoreList(list: string): number[] {
  return list.split(',').flatMap((range) => {
    const [first, last] = range.trim().split('-').map(Number);
    if (first === undefined) return [];
    return Array.from({ length: (last ?? first) - first + 1 }, (_, index) => first + index);
  });
}
