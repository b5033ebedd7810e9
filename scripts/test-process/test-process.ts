import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import type { FileReport } from './worker.ts';

/** What a file wrote, and why it failed; `failure` is undefined after a good end. */
export interface FileResult {
  readonly output: string;
  readonly failure: string | undefined;
}

export interface ProcessOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** How long a file may take. */
  readonly timeoutMs: number;
}

/** What a file whose time is over has for its report. */
const GRACE_MS = 10_000;
/** A process that has grown larger makes room for a new one: collecting its garbage would cost more than a start. */
const LARGE_MIB = 1000;
/** Collects garbage less often, in more memory (MiB): a sixth less time. */
const LESS_GARBAGE = ['--max-semi-space-size=64'];
const WORKER = fileURLToPath(new URL('worker.ts', import.meta.url));
const running = new Set<ChildProcess>();

export function killAll(signal: NodeJS.Signals): void {
  for (const child of running) child.kill(signal);
}

/** Runs a file in a process of its own, as `node <file>` does. */
export async function runAlone(file: string, options: ProcessOptions): Promise<FileResult> {
  const env = { ...options.env, TAP_TIMEOUT: String(options.timeoutMs / 1000) };
  const child = start([file], { ...options, env }, 'ignore');
  const [output] = await Promise.all([text(child.stdout!), within(options.timeoutMs, child, once(child, 'exit'))]);
  const end = endOf(child);
  return { output, failure: end === '0' ? undefined : `ended with ${end}` };
}

/** Runs files one after the other, in one process for as long as nothing speaks against it. */
export class SharedProcess {
  readonly #options: ProcessOptions;
  /** Begins the line that ends the output of a file. No file can write it by chance. */
  readonly #endOfFile = `# ${randomUUID()} `;
  #child: ChildProcess | undefined;
  #output = '';

  constructor(options: ProcessOptions) {
    this.#options = options;
  }

  async run(file: string): Promise<FileResult> {
    this.#child ??= this.#start();
    const child = this.#child;
    this.#output = '';
    child.send(file);
    await within(this.#options.timeoutMs, child, once(child, 'end of file'));
    const [output = '', json] = this.#output.split(this.#endOfFile);
    if (json === undefined) return { output, failure: `ended with ${endOf(child)}` };
    const report = JSON.parse(json) as FileReport;
    if (!report.isRight || report.changes.length > 0 || report.rssMiB > LARGE_MIB) this.stop();
    return { output, failure: failureOf(report) };
  }

  stop(): void {
    this.#child?.disconnect();
    this.#child = undefined;
  }

  #start(): ChildProcess {
    const { timeoutMs, env } = this.#options;
    // The `t` of a file has the time limit. tap's own `t`, which nobody uses, would end the process after its own.
    const options = { ...this.#options, env: { ...env, TAP_TIMEOUT: '0' } };
    const child = start([...LESS_GARBAGE, WORKER, String(timeoutMs), this.#endOfFile], options, 'ipc');
    child.stdout!.setEncoding('utf8').on('data', (chunk: string) => {
      this.#output += chunk;
      if (chunk.endsWith('\n') && this.#output.includes(this.#endOfFile)) child.emit('end of file');
    });
    child.once('close', () => {
      if (this.#child === child) this.#child = undefined;
      child.emit('end of file');
    });
    return child;
  }
}

function start(argv: readonly string[], { cwd, env }: ProcessOptions, channel: 'ignore' | 'ipc'): ChildProcess {
  const child = spawn(process.execPath, argv, { cwd, env, stdio: ['ignore', 'pipe', 'inherit', channel] });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/** tap itself ends a test whose time is over. It cannot if the test does not let it run, so this kills the process. */
async function within(timeoutMs: number, child: ChildProcess, end: Promise<unknown>): Promise<void> {
  const killing = setTimeout(() => child.kill('SIGKILL'), timeoutMs + GRACE_MS);
  await end;
  clearTimeout(killing);
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  return String(exitCode ?? signalCode);
}

function failureOf({ isRight, changes }: FileReport): string | undefined {
  if (!isRight) return 'has failures';
  return changes.length > 0 ? `leaves to the next file: ${changes.join(', ')}` : undefined;
}
