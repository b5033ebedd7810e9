/**
 * `node worker.ts <what begins the last line of a file>`: runs test files one after the other in this
 * process, each when `SharedProcess` names it. That saves starts, imports and compiling.
 *
 * A file ends as it does in a process of its own: when nothing that it opened is left. Node then emits `beforeExit`.
 */
import { registerHooks } from 'node:module';
import { Socket } from 'node:net';
import { pathToFileURL } from 'node:url';
import type { Test } from 'tap';
import { changesBetween, processState } from './process-state.ts';
import { STILL_OPEN } from './report.ts';
import { type FileReport, IDLE } from './worker-messages.ts';

const TAP_OF_FILE = import.meta.resolve('./tap-of-file.ts');
registerHooks({
  resolve(specifier, context, nextResolve) {
    if (specifier === 'tap' && context.parentURL !== TAP_OF_FILE) return nextResolve(TAP_OF_FILE, context);
    return nextResolve(specifier, context);
  },
});
const { beginFile } = await import('./tap-of-file.ts');

const [endOfFile] = process.argv.slice(2);
/** The file that runs, and its end. */
let running: { readonly test: Test; readonly end: () => void } | undefined;

process.on('beforeExit', () => running?.end());
for (const event of ['uncaughtException', 'unhandledRejection']) {
  process.on(event, (error: unknown) => {
    const test = runningTest();
    if (test === undefined) throw error;
    test.threw(error instanceof Error ? error : { error });
  });
}
process.on('message', (file: string) => {
  if (file === IDLE) {
    process.stdout.write(`${STILL_OPEN}${openResources()}\n`);
    running?.test.timeout();
    return;
  }
  process.channel!.unref();
  const before = processState();
  const test = beginFile(file);
  let isImported = false;
  const end = (): void => {
    running = undefined;
    if (!isImported) test.threw(new Error('The file has a top-level await that never settles'));
    test.end();
    // Something that it waits for can no longer happen.
    if (!test.results) test.endAll();
    process.channel!.ref();
    report({
      isRight: test.passing(),
      changes: changesBetween(before, processState()),
      rssMiB: process.memoryUsage.rss() / 2 ** 20,
    });
  };
  running = { test, end };
  void import(pathToFileURL(file).href).catch((error: unknown) => test.threw(error)).finally(() => (isImported = true));
});

/** The handles that keep the process from ending, such as `Timeout, socket 127.0.0.1:40124 to 127.0.0.1:5432`. */
function openResources(): string {
  // Node names resources publicly, and gives their addresses only here.
  // oxlint-disable-next-line no-underscore-dangle
  const handles = (process as unknown as { _getActiveHandles(): readonly unknown[] })._getActiveHandles();
  const sockets = handles.filter((handle) => handle instanceof Socket);
  const names = sockets.map(
    (socket) =>
      `socket ${addressOf(socket.localAddress, socket.localPort)} to ${addressOf(socket.remoteAddress, socket.remotePort)}`,
  );
  return [...process.getActiveResourcesInfo().filter((name) => !/^(TCP|Pipe)Wrap$/.test(name)), ...names].join(', ');
}

function addressOf(address: string | undefined, port: number | undefined): string {
  return address === undefined ? 'a pipe' : `${address}:${port}`;
}

/** The innermost test that has begun. */
function runningTest(): Test | undefined {
  let test = running?.test;
  for (let inner = test; inner !== undefined; [inner] = inner.activeSubtests as Set<Test>) test = inner;
  return test;
}

function report(file: FileReport): void {
  process.stdout.write(`${endOfFile}${JSON.stringify(file)}\n`);
}
