import * as library from '@node-rs/argon2';
import { defineEntity, p } from '@mikro-orm/core';
import bcrypt from '@node-rs/bcrypt';
import t from 'tap';
import { forEachDatabase, openSqlite } from '../../../core/test/support/databases.ts';
import { PASSWORD, startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const entities = [Account, Role];
const argon2 = { library, memoryKiB: 64, passes: 1 };

forEachDatabase(t, { entities }, async (t, orm) => {
  const app = await startApp(t, orm, { argon2, passwords: { maxLength: 100 } });

  t.test('an account moves to Argon2id when it logs in', async (t) => {
    await app.addAccount('ann@example.com');
    await orm.em.fork().nativeUpdate(Account, {}, { password: await bcrypt.hash(PASSWORD, 4) });
    t.ok(await app.login('ann@example.com'));
    t.match((await app.stored('ann@example.com'))?.password, /^\$argon2id\$v=19\$m=64,t=1,p=1\$/);
    t.ok(await app.login('ann@example.com'), 'and its password is the same');
  });

  t.test('a password may then have more than 72 bytes', async (t) => {
    await app.addAccount('bob@example.com');
    const headers = { authorization: `Bearer ${await app.login('bob@example.com')}` };
    const long = '🔑'.repeat(100);
    const body = { current_password: PASSWORD, new_password: long };
    t.equal((await app.post('/auth/change-password', body, headers)).status, 204);
    t.ok(await app.login('bob@example.com', long));
  });
});

t.test('the password column needs room for such a hash', async (t) => {
  const Narrow = defineEntity({
    name: 'Narrow',
    properties: {
      id: p.integer().primary(),
      name: p.string(),
      email: p.string().unique(),
      password: p.string().length(60),
      role: () => p.manyToOne(Role).nullable(),
      is_active: p.boolean().default(true),
      last_login: p.datetime().nullable(),
    },
  });
  const orm = await openSqlite(t, { entities: [Narrow, Role] });
  await t.rejects(startApp(t, orm, { account: Narrow, argon2 }), {
    message: /room for a hash of Argon2id, 120 characters/,
  });
});
