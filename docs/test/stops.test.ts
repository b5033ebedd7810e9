/** The programs of the examples and of `create-viewset` stop at SIGTERM by `app.close()`, with clients that keep their connections. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import t from 'tap';
import { stopUnderLoad } from './support/stop-under-load.ts';

const PROGRAMS: readonly (readonly [string, string])[] = [
  ['examples/tracker/src/main.ts', '/health/'],
  ['examples/conduit/src/main.ts', '/api/tags'],
  ['packages/create/template/server.ts', '/health/'],
];

t.setTimeout(120_000);

for (const [program, path] of PROGRAMS) {
  t.test(program, async (t) => {
    const folder = t.testdir();
    const server = spawn(process.execPath, [fileURLToPath(new URL(`../../${program}`, import.meta.url))], {
      cwd: folder,
      env: {
        ...process.env,
        DATABASE_URL: `sqlite:${folder}/test.sqlite`,
        DATABASE_FILE: `${folder}/test.sqlite`,
        HOST: '127.0.0.1',
        PORT: '0',
        SECRET_KEY: 'thirty-two bytes of the test for all',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    t.teardown(() => server.kill('SIGKILL'));
    let log = '';
    let address: string | undefined;
    while (address === undefined) {
      const [chunk] = (await once(server.stdout, 'data')) as [Buffer];
      log += chunk.toString();
      [address] = /http:\/\/127\.0\.0\.1:\d+/.exec(log) ?? [];
    }
    // Nobody else reads the log from now on.
    server.stdout.resume();
    const { code, signal, statuses } = await stopUnderLoad(server, new URL(path, address));
    t.strictSame([code, signal, [...statuses]], [0, null, [200]]);
  });
}
