import { PassThrough } from 'node:stream';
import t from 'tap';
import { askChoices } from '../src/ask.ts';

const [ENTER, DOWN, SPACE, CTRL_C] = ['\r', '\u001B[B', ' ', '\u0003'];

/** A terminal at which a person presses a key whenever something was asked. */
function terminal(keys: readonly string[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true, setRawMode: () => {} });
  const output = Object.assign(new PassThrough(), { columns: 80, rows: 24, isTTY: true });
  let shown = '';
  output.on('data', (chunk: Buffer) => void (shown += chunk.toString()));
  void (async () => {
    for (const key of keys) {
      await new Promise((resolve) => setTimeout(resolve, 50));
      input.write(key);
    }
  })();
  return { input, output, shown: () => shown };
}

t.test('a person who presses enter gets the defaults', async (t) => {
  const choices = await askChoices({ chosen: {} }, terminal([ENTER, ENTER, ENTER]));
  t.match(choices, {
    folder: 'library',
    database: 'sqlite',
    parts: ['accounts', 'explorer', 'tests', 'container', 'ci'],
  });
});

t.test('only choices missing from the command line are prompted', async (t) => {
  const asked = terminal([DOWN, ENTER, SPACE, ENTER]);
  const choices = await askChoices({ folder: 'shelf', chosen: { tests: true, ci: false } }, asked);
  t.match(choices, { folder: 'shelf', database: 'postgresql', parts: ['explorer', 'tests', 'container'] });
  t.notMatch(asked.shown(), 'Which folder?');
});

t.test('cancelling reports that nothing was created', async (t) => {
  await t.rejects(askChoices({ chosen: {} }, terminal([CTRL_C])), { message: 'Nothing was made' });
});
