/**
 * `node worker.ts <time limit in ms> <what begins the last line of a file>`: runs test files one after the other in this
 * process, each when `SharedProcess` names it. That saves starts, imports and compiling.
 *
 * A file ends as it does in a process of its own: when nothing that it opened is left. Node then emits `beforeExit`.
 */
import { registerHooks } from 'node:module';
import { pathToFileURL } from 'node:url';
import { changesBetween, processState } from './process-state.ts';

/** The last line of a file. */
export interface FileReport {
  readonly isRight: boolean;
  /** What of the process differs after the file. */
  readonly changes: readonly string[];
  /** How much memory the process has. */
  readonly rssMiB: number;
}

const TAP_OF_FILE = new URL('tap-of-file.ts', import.meta.url).href;
registerHooks({
  resolve: (specifier, context, nextResolve) =>
    nextResolve(specifier === 'tap' && context.parentURL !== TAP_OF_FILE ? TAP_OF_FILE : specifier, context),
});
const { beginFile } = await import('./tap-of-file.ts');

const [timeoutMs, endOfFile] = process.argv.slice(2);
/** Ends the file that runs. */
let end: (() => void) | undefined;

process.on('beforeExit', () => end?.());
process.on('message', (file: string) => {
  process.channel!.unref();
  const before = processState();
  const test = beginFile(file, Number(timeoutMs));
  let isImported = false;
  end = () => {
    end = undefined;
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
  void test.hook.runInAsyncScope(async () => {
    try {
      await import(pathToFileURL(file).href);
    } catch (error) {
      test.threw(error);
    }
    isImported = true;
  });
});

function report(file: FileReport): void {
  process.stdout.write(`${endOfFile}${JSON.stringify(file)}\n`);
}
