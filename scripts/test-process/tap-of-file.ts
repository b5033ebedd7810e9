/**
 * What `import t from 'tap'` means in a process that runs several files: a `t` of the file that runs. The binding is live,
 * so the modules that files share have the `t` of the same file.
 */
import { Test, type TestOpts } from 'tap';

// oxlint-disable-next-line import/no-mutable-exports -- each file sets it
let t: Test;
// oxlint-disable-next-line import/no-default-export -- as tap has it
export { t as default };

/** Begins a file, whose output goes to the output of the process, and ends with its counts as if tap ran it alone. */
export function beginFile(name: string): Test {
  const options: TestOpts = { name, timeout: 0 };
  const test = new Test(options);
  test.on('data', (text) => process.stdout.write(text));
  test.on('complete', () => {
    test.comment(test.counts.toJSON());
  });
  test.runMain(() => undefined);
  t = test;
  return test;
}
