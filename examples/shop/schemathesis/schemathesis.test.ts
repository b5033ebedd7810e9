/**
 * Runs Schemathesis, with all its checks, against the shop as its document describes it: logged in as the administrator and
 * not, on every database. Needs the program (`pip install schemathesis`); `SCHEMATHESIS_EXAMPLES` says how many requests it
 * makes up for each operation and phase.
 */
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { withShop } from '../test/support/shop.ts';

const config = fileURLToPath(new URL('schemathesis.toml', import.meta.url));
const examples = process.env['SCHEMATHESIS_EXAMPLES'] ?? '10';
const isMissing = spawnSync('schemathesis', ['--version']).error !== undefined;

withShop({ THROTTLE_IP: 'off', THROTTLE_USER: 'off', BCRYPT_ROUNDS: '4' }, async (t, shop) => {
  t.setTimeout(3_600_000);
  const skip = isMissing && 'schemathesis is not installed (pip install schemathesis)';
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
  const child = spawn('schemathesis', [...own, '--continue-on-failure', '--no-color', ...args], {
    cwd: folder,
    stdio: ['ignore', 2, 2],
  });
  const [code] = (await once(child, 'exit')) as unknown[];
  rmSync(folder, { recursive: true, force: true });
  return code;
}
