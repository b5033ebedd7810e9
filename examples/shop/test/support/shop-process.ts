import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';
import { DEFAULTS, RunningShop, type Variables } from './running-shop.ts';

const SERVER = fileURLToPath(new URL('../../src/server.ts', import.meta.url));
/** The only variables of the developer's environment that are passed to the shop: those that a process needs to run. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR'].map((name) => [name, process.env[name] ?? '']);
// The default compile cache of Node, so that files are compiled once for many starts.
const NODE_COMPILE_CACHE = join(tmpdir(), 'node-compile-cache');

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** `node src/server.ts` with these variables and no others; killed when the test ends. */
export class ShopProcess extends RunningShop {
  readonly child: ChildProcess;
  readonly exited: Promise<Exit>;

  constructor(t: Test, variables: Variables) {
    super();
    const env = { ...Object.fromEntries(INHERITED), NODE_COMPILE_CACHE, ...DEFAULTS, ...variables };
    this.child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      createInterface(stream).on('line', (line) => this.keep(line));
    }
    t.teardown(() => this.stop('SIGKILL'));
  }

  protected override async ended(): Promise<never> {
    const { code, signal } = await this.exited;
    throw new Error(`The shop ended (${code ?? signal}): ${this.output.join('\n')} ${JSON.stringify(this.log.at(-1))}`);
  }

  /** Sends a signal and waits for the end. */
  override async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal);
    return this.exited;
  }
}
