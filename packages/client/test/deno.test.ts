import { execFile, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { LIBRARY } from '../../core/test/support/library.ts';
import { Loan } from './support/library-router.ts';
import { startLibrary } from './support/library-server.ts';

const path = (relative: string) => fileURLToPath(new URL(relative, import.meta.url));
const deno = (...args: string[]) => promisify(execFile)('deno', args);
/** Too large for everybody who tries the demo to download: `.ci/run` brings it, and under CI its lack is a failure. */
const isMissing = process.env['CI'] !== 'true' && spawnSync('deno', ['--version']).error !== undefined;
const skip = isMissing && 'Deno is not installed (npx -p deno@2)';

forEachDatabase(t, { entities: [...LIBRARY, Loan], only: ['sqlite'] }, async (t, orm) => {
  const url = await startLibrary(t, orm);

  t.test('Deno runs the sources as they are, allowed nothing but the network', { skip }, async (t) => {
    const { stdout } = await deno(
      'run',
      '--no-config',
      '--no-lock',
      '--no-prompt',
      '--allow-net=127.0.0.1',
      path('support/portable-program.ts'),
      url,
    );
    t.match(JSON.parse(stdout), {
      titles: ['Elm', 'Date', 'Cedar', 'Birch', 'Ash'],
      title: 'Fir',
      pages: 7,
      code: 'not_found',
    });
  });

  t.test('Deno finds no type errors in them', { skip }, async (t) => {
    await t.resolves(deno('check', '--no-config', '--no-lock', path('../src/index.ts')));
  });
});
