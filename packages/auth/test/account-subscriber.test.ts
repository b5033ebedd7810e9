import bcrypt from '@node-rs/bcrypt';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { AccountSubscriber } from '../src/accounts/account-subscriber.ts';
import { PasswordHasher } from '../src/passwords/password-hasher.ts';
import { Account, Role } from './support/entities.ts';

const hasher = new PasswordHasher({ rounds: 4 });
const subscribers = [new AccountSubscriber(Account, hasher), new AccountSubscriber(Account, hasher)];

forEachDatabase(t, { entities: [Account, Role], orm: { subscribers } }, async (t, orm) => {
  const stored = (id: number): Promise<Account> => orm.em.fork().findOneOrFail(Account, id);
  const add = async (email: string, password = 'correct horse'): Promise<Account> => {
    const em = orm.em.fork();
    const account = em.create(Account, { email, password, name: 'Ann' });
    await em.flush();
    return account;
  };

  t.test('a new account’s password is hashed once, its address normalized', async (t) => {
    const account = await add('  Ann@Example.COM ');
    const { email, password } = await stored(account.id);
    t.equal(email, 'ann@example.com');
    t.equal(account.email, 'ann@example.com', 'the entity has what is stored');
    t.equal(account.password, password);
    t.ok(await bcrypt.compare('correct horse', password));
  });

  t.test('a password that looks like a hash is a password', async (t) => {
    const looksHashed = await hasher.hash('x');
    const { password } = await stored((await add('hash@example.com', looksHashed)).id);
    t.not(password, looksHashed);
    t.ok(await bcrypt.compare(looksHashed, password));
  });

  t.test('an update without a new password keeps the hash, one with a new password hashes it', async (t) => {
    const { id, password: before } = await add('update@example.com');
    const em = orm.em.fork();
    const account = await em.findOneOrFail(Account, id);
    account.name = 'Bea';
    account.email = 'UPDATE2@example.com';
    await em.flush();
    t.match(await stored(id), { name: 'Bea', email: 'update2@example.com', password: before });
    account.password = 'another horse';
    await em.flush();
    await em.flush();
    t.ok(await bcrypt.compare('another horse', (await stored(id)).password));
  });

  t.test('a flush that failed may be tried again', async (t) => {
    await add('taken@example.com');
    const em = orm.em.fork();
    const account = em.create(Account, { email: 'Taken@example.com', password: 'correct horse', name: 'Ann' });
    await t.rejects(em.flush(), { name: 'UniqueConstraintViolationException' });
    account.email = 'free@example.com';
    const again = orm.em.fork();
    again.persist(account);
    await again.flush();
    t.ok(await bcrypt.compare('correct horse', (await stored(account.id)).password));
  });

  t.test('many at once, together with others’ entities, and deletions', async (t) => {
    const em = orm.em.fork();
    const role = em.create(Role, { name: 'user' });
    for (let index = 0; index < 5; index++) {
      em.create(Account, { email: `${index}@Many.example`, password: 'x', name: 'x', role });
    }
    await em.flush();
    const accounts = await orm.em.fork().find(Account, { role: role.id });
    t.equal(accounts.length, 5);
    for (const { email, password } of accounts) {
      t.ok(email.endsWith('@many.example') && (await bcrypt.compare('x', password)));
    }
    for (const account of await em.find(Account, { role })) em.remove(account);
    await em.flush();
    t.equal(await orm.em.fork().count(Account, { role: role.id }), 0);
  });

  t.test('too long a password is refused rather than cut', async (t) => {
    await t.rejects(add('long@example.com', 'x'.repeat(73)), {
      name: 'InvalidUsage',
      details: [{ in: 'body', path: '/password', message: 'must be at most 72 bytes of UTF-8' }],
    });
    t.equal(await orm.em.fork().count(Account, { email: 'long@example.com' }), 0);
  });
});
