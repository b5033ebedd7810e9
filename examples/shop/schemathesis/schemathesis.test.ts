/**
 * Runs Schemathesis, with all its checks, against the shop as its document describes it: logged in as the administrator and
 * not, on every database. Needs Python; pip brings the program. `SCHEMATHESIS_EXAMPLES` says how many requests it makes up for
 * each operation and phase, `SCHEMATHESIS_PHASES` which phases there are (all), `SCHEMATHESIS_SEED` which requests (others each time).
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonProgram } from '../../../scripts/foreign-programs.ts';
import { withShop } from '../test/support/shop.ts';

const config = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
const hooks = fileURLToPath(new URL('hooks.py', import.meta.url));
const { SCHEMATHESIS_EXAMPLES: examples = '10', SCHEMATHESIS_PHASES: phases, SCHEMATHESIS_SEED: seed } = process.env;
const program = pythonProgram('schemathesis==4.32.5');
const isSkipped = program === undefined && process.env['CI'] !== 'true';

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off', BCRYPT_ROUNDS: '4' }, async (t, shop) => {
  t.setTimeout(3_600_000);
  const skip = isSkipped && 'Schemathesis is NOT TESTED: there is no Python, or PyPI does not answer';
  await t.test('nobody is logged in', { skip }, async (t) => t.equal(await run(shop.url, []), 0));
  await t.test('the administrator is logged in', { skip }, async (t) => {
    t.equal(await run(shop.url, ['--header', `Authorization: Bearer ${await shop.login()}`]), 0);
  });
});

/** Returns the exit code; the program's report goes to the terminal. */
async function run(url: string, args: readonly string[]): Promise<unknown> {
  // The program keeps what it found in the folder that it runs in.
  const folder = mkdtempSync(join(tmpdir(), 'viewset-schemathesis-'));
  const own = ['--config-file', config, 'run', `${url}/openapi.json`, '--checks', 'all', '-n', examples];
  const some = phases === undefined ? [] : ['--phases', phases];
  const same = seed === undefined ? [] : ['--seed', seed];
  if (program === undefined) throw new Error('Schemathesis could not be installed');
  const child = spawn(program, [...own, ...some, ...same, '--continue-on-failure', '--no-color', ...args], {
    cwd: folder,
    env: { ...process.env, SCHEMATHESIS_HOOKS: hooks, PYTHONDONTWRITEBYTECODE: '1' },
    stdio: ['ignore', 2, 2],
  });
  const [code] = (await once(child, 'exit')) as unknown[];
  rmSync(folder, { recursive: true, force: true });
  return code;
}
