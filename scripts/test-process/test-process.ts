import { type ChildProcess, spawn, type StdioOptions } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { watchIdle } from './idle.ts';
import { type FileReport, IDLE } from './worker-messages.ts';

/** The output of a file, and why it failed; `failure` is undefined after success. */
export interface FileResult {
  readonly output: string;
  readonly failure: string | undefined;
}

export interface ProcessOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** How long a file may use almost no processor time, in milliseconds. */
  readonly idleMs: number;
}

/** How long an idle file may take to report the test that waits, in milliseconds. */
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
  const child = start([file], options, 'ignore');
  const ended = unlessIdle(child, options, once(child, 'exit'), () => child.kill('SIGTERM'));
  const [output, isIdle] = await Promise.all([text(child.stdout!), ended]);
  const end = endOf(child);
  if (isIdle) return { output, failure: idleFor(options) };
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
    const isIdle = await unlessIdle(child, this.#options, once(child, 'end of file'), () => child.send(IDLE));
    const [output = '', json] = this.#output.split(this.#endOfFile);
    if (isIdle) {
      child.kill('SIGKILL');
      return { output, failure: idleFor(this.#options) };
    }
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
    const child = start([...LESS_GARBAGE, WORKER, this.#endOfFile], this.#options, 'ipc');
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
  // tap ends a file after 30 s by default, however little of them a busy machine gives it.
  const environment = { ...env, TAP_TIMEOUT: '0' };
  const stdio: StdioOptions = ['ignore', 'pipe', 'inherit', channel];
  const child = spawn(process.execPath, argv, { cwd, env: environment, stdio });
  running.add(child);
  child.once('exit', () => running.delete(child));
  return child;
}

/**
 * Waits for the end of a file. If the file is idle for too long, lets it report the test that waits, and kills its process if it
 * does not.
 *
 * @returns true if the file was idle
 */
async function unlessIdle(
  child: ChildProcess,
  { idleMs }: ProcessOptions,
  end: Promise<unknown>,
  requestReport: () => void,
): Promise<boolean> {
  let isIdle = false;
  let killing: NodeJS.Timeout | undefined;
  const stopWatch = watchIdle(child.pid!, idleMs, () => {
    isIdle = true;
    requestReport();
    killing = setTimeout(() => child.kill('SIGKILL'), GRACE_MS);
  });
  await end;
  stopWatch();
  clearTimeout(killing);
  return isIdle;
}

function idleFor({ idleMs }: ProcessOptions): string {
  return `waited for ${idleMs / 1000} s without using the processor`;
}

function endOf({ exitCode, signalCode }: ChildProcess): string {
  return String(exitCode ?? signalCode);
}

function failureOf({ isRight, changes }: FileReport): string | undefined {
  if (!isRight) return 'has failures';
  return changes.length > 0 ? `leaves to the next file: ${changes.join(', ')}` : undefined;
}
