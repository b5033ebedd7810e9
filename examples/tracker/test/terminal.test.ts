import { MikroORM } from '@mikro-orm/sqlite';
import t from 'tap';
import { buildApp } from '../src/app.ts';
import { ENTITIES } from '../src/entities.ts';

t.test('on a terminal the routes are printed at start, with the permissions of each', async (t) => {
  const orm = await MikroORM.init({ dbName: ':memory:', entities: ENTITIES });
  t.teardown(() => orm.close());
  let written = '';
  const app = await buildApp({
    orm,
    uploads: t.testdir(),
    secret: 'a secret of 32 bytes for the tests',
    log: 'terminal',
    write: (text) => (written += text),
  });
  t.teardown(() => app.close());
  app.log.level = 'silent';
  await app.listen();
  const who = (method: string, path: string): string | undefined =>
    written
      .split('\n')
      .find((line) => line.startsWith(`  ${method} `) && line.split(/\s+/)[2] === path)
      ?.split(/ {2,}/)
      .at(-1);
  t.equal(who('POST', '/api/auth/login'), 'anybody');
  t.equal(who('GET', '/api/labels'), 'logged-in users');
  t.equal(who('POST', '/api/labels'), 'IsRoleAdminUser');
  t.equal(who('GET', '/api/tickets'), 'scoped(Ticket)');
});
