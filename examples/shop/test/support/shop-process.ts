import { type ChildProcess, spawn } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { Test } from 'tap';

export type Variables = Readonly<Record<string, string>>;

export const SECRET_KEY = 'the secret of the tests: 32 bytes or more';
export const JWT_SECRET = 'another secret of the tests: 32 bytes or more';

const SERVER = fileURLToPath(new URL('../../src/server.ts', import.meta.url));
/** Nothing of the developer's environment reaches the shop but what a process needs to run. */
const INHERITED = ['PATH', 'HOME', 'TMPDIR'].map((name) => [name, process.env[name] ?? '']);
const DEFAULTS: Variables = {
  // Where Node keeps it by default: stripped and compiled once, not at each of many starts.
  NODE_COMPILE_CACHE: join(tmpdir(), 'node-compile-cache'),
  PORT: '0',
  // Its page would be bundled at each start. explorer.test.ts looks at it.
  EXPLORER: 'off',
  BCRYPT_ROUNDS: '4',
  THROTTLE_IP: 'off',
  THROTTLE_USER: 'off',
  SECRET_KEY,
  JWT_SECRET,
};
/** A line that has not come by then does not come. */
const PATIENCE_MS = 60_000;

/** One line of the shop's log. */
export interface LogLine {
  level: number;
  msg: string;
  port?: number;
  /** The name of a security event, and the account that it happened to. */
  event?: string;
  target?: number;
  /** What would have been sent, had there been a mail server. */
  mail?: { recipient: string; subject: string; content: string; is_html: boolean };
}

/** How a process ended. */
export interface Exit {
  code: number | null;
  signal: NodeJS.Signals | null;
}

/** `node src/server.ts` with these variables and no others; killed when the test ends. */
export class ShopProcess {
  readonly child: ChildProcess;
  readonly log: LogLine[] = [];
  /** What it printed that is no line of the log. */
  readonly output: string[] = [];
  readonly exited: Promise<Exit>;
  readonly #lines = new EventEmitter();

  constructor(t: Test, variables: Variables) {
    const env = { ...Object.fromEntries(INHERITED), ...DEFAULTS, ...variables };
    this.child = spawn(process.execPath, [SERVER], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    this.exited = once(this.child, 'close').then(([code, signal]) => ({ code, signal }));
    for (const stream of [this.child.stdout!, this.child.stderr!]) {
      createInterface(stream).on('line', (line) => this.#keep(line));
    }
    t.teardown(() => this.stop('SIGKILL'));
  }

  #keep(line: string): void {
    if (line.startsWith('{')) this.log.push(JSON.parse(line) as LogLine);
    else this.output.push(line);
    this.#lines.emit('line');
  }

  /** The first line of the log, from a place on, that is looked for; waits for it. */
  async logged(isIt: (line: LogLine) => boolean, from = 0): Promise<LogLine> {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    for (let index = from; ; index += 1) {
      while (index >= this.log.length) await Promise.race([once(this.#lines, 'line', { signal }), this.#mustRun()]);
      const line = this.log[index]!;
      if (isIt(line)) return line;
    }
  }

  async #mustRun(): Promise<never> {
    const { code, signal } = await this.exited;
    throw new Error(`The shop ended (${code ?? signal}): ${this.output.join('\n')} ${JSON.stringify(this.log.at(-1))}`);
  }

  /** Sends a signal and waits for the end. */
  async stop(signal: NodeJS.Signals = 'SIGTERM'): Promise<Exit> {
    this.child.kill(signal);
    return this.exited;
  }
}
