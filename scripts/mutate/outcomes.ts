import { type ChildProcess, fork, spawn } from 'node:child_process';
import { once } from 'node:events';
import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { Outcome } from './shop-answers.ts';

const PATIENCE_MS = 30_000;

/** Starts copies of the shop in a separate process, which is replaced if one of them ends it. */
export class ShopRunner {
  #child: ChildProcess | undefined;

  async outcomeOf(entry: string): Promise<Outcome> {
    const child = (this.#child ??= fork(fileURLToPath(new URL('shop-answers.ts', import.meta.url)), {
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    }));
    const settled = new AbortController();
    const { signal } = settled;
    child.send(entry);
    try {
      return await Promise.race([
        once(child, 'message', { signal }).then(([outcome]) => outcome as Outcome),
        once(child, 'exit', { signal }).then(([code]) => this.#lost(`ended with ${code}`)),
        sleep(PATIENCE_MS, undefined, { signal }).then(() => this.#lost('neither started nor answered')),
      ]);
    } finally {
      settled.abort();
    }
  }

  #lost(refused: string): Outcome {
    this.close();
    return { refused };
  }

  close(): void {
    this.#child?.kill('SIGKILL');
    this.#child = undefined;
  }
}

/** Runs a program that asks itself its requests and says `should have answered` if an answer is not the one that it expects. */
export async function outcomeOfProgram(entry: string): Promise<Outcome> {
  const child = spawn(process.execPath, [entry], {
    cwd: dirname(entry),
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: PATIENCE_MS,
  });
  let said = '';
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (said += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code === 0) return { answers: [] };
  return said.includes('should have answered') ? { answers: [said] } : { refused: said };
}
