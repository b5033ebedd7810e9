import { logOptions, logRequests } from '@viewset/terminal';
import fastify from 'fastify';
import { PassThrough } from 'node:stream';
import { isatty } from 'node:tty';
import { stripVTControlCharacters } from 'node:util';
import t from 'tap';
import { buildApp } from '../src/app.ts';
import { examples } from '../src/examples.ts';
import { readSettings } from '../src/settings.ts';

const SETTINGS = { DATABASE_URL: 'sqlite::memory:', BCRYPT_ROUNDS: '4', PORT: '0' };

t.test(
  'a request is one line on a terminal: time, level, method, path, status, duration, and why it was refused',
  async (t) => {
    const output = new PassThrough();
    const app = fastify(logOptions(true, output));
    t.teardown(() => app.close());
    logRequests(app);
    app.get('/good', () => 'good');
    app.get('/bad', (_request, reply) => reply.code(400).send({ error: 'It is\u001B[2J bad', code: 'invalid_usage' }));
    app.get('/broken', (_request, reply) => reply.code(500).send({ error: 'Internal' }));
    for (const url of ['/good', '/bad', '/broken']) await app.inject(url);
    const lines = stripVTControlCharacters(String(output.read())).trimEnd().split('\n');
    t.equal(lines.length, 3);
    t.match(lines[0], /^\[\d\d:\d\d:\d\d\] INFO: GET {4}\/good 200 \d+\.\d ms$/);
    t.match(
      lines[1],
      /^\[\d\d:\d\d:\d\d\] INFO: GET {4}\/bad 400 \d+\.\d ms: It is\?\[2J bad$/,
      'what steers a terminal is gone',
    );
    t.match(lines[2], /\/broken 500 \d+\.\d ms$/);
  },
);

t.test('the log is JSON on other outputs', async (t) => {
  t.strictSame(logOptions(false), { logger: true });
  t.equal(readSettings(SETTINGS).terminal, isatty(process.stdout.fd));
});

t.test('the routes are printed at start, with the permissions of each', async (t) => {
  let written = '';
  const app = await buildApp({ ...readSettings(SETTINGS), terminal: true }, undefined, (text) => (written += text));
  t.teardown(() => app.close());
  await app.listen({ port: 0 });
  const who = (method: string, path: string): string | undefined =>
    written
      .split('\n')
      .find((line) => line.startsWith(`  ${method} `) && line.split(/\s+/)[2] === path)
      ?.split(/ {2,}/)
      .at(-1);
  t.equal(who('GET', '/api/products'), 'anybody');
  t.equal(who('POST', '/api/products'), 'logged-in users');
  t.equal(who('GET', '/api/roles/:pk'), 'logged-in users');
  t.equal(who('DELETE', '/api/roles/:pk'), 'IsRoleAdminUser');
  t.equal(who('GET', '/api/accounts'), '(IsRoleAdminUser or IsSelf)');
  t.equal(who('POST', '/api/auth/login'), 'anybody');
  t.notMatch(written, /explorer|HEAD/);
});

t.test('the demo prints the addresses of its pages', async (t) => {
  const told = examples('http://127.0.0.1:3000', readSettings({}));
  t.match(told, /http:\/\/localhost:3000\/api .*explorer.* admin-password/);
  t.match(told, /http:\/\/localhost:3000\/docs/);
  t.match(told, /TOKEN=\$\(curl /, 'the login can be pasted');
  t.notMatch(told, /<the /);
  t.notMatch(examples('http://127.0.0.1:3000', readSettings({ EXPLORER: 'off' })), /explorer/);
});
