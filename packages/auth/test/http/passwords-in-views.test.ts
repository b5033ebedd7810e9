/** A view of accounts that takes a password: what bcrypt cannot hash is the client's fault, with or without the schema for it. */
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import t from 'tap';
import { Type } from 'typebox';
import { forEachDatabase } from '../../../core/test/support/databases.ts';
import { passwordField } from '../../src/index.ts';
import { startApp } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

const read = readShape(Account, ['id', 'email', 'name']);
class PlainViewSet extends ModelViewSet(Account, {
  read,
  write: writeShape(Account, ['name', 'email'], { password: Type.String() }),
  allowAnonymous: true,
}) {}
class FieldViewSet extends ModelViewSet(Account, {
  read,
  write: writeShape(Account, ['name', 'email'], { password: passwordField({ minLength: 8 }) }),
  allowAnonymous: true,
}) {}

forEachDatabase(t, { entities: [Account, Role] }, async (t, orm) => {
  const router = new Router().register('plain', PlainViewSet).register('field', FieldViewSet);
  const app = await startApp(t, orm, {}, (server) => void server.register(router.plugin));
  const keys = '🔑'.repeat(19); // 76 bytes in 19 characters
  const problem = [{ in: 'body', path: '/password', message: 'must be at most 72 bytes of UTF-8' }];

  for (const path of ['/plain', '/field']) {
    t.test(`a password above 72 bytes returns 400 at ${path}, and nothing is stored`, async (t) => {
      const email = `long${path.slice(1)}@example.com`;
      const made = await app.post(path, { name: 'Ann', email, password: keys });
      t.equal(made.status, 400, made.text);
      t.strictSame(made.body['details'], problem);
      t.equal(await app.stored(email), null);
      const kept = await app.addAccount(`kept${path.slice(1)}@example.com`);
      const changed = await app.request('PATCH', `${path}/${kept.id}`, { json: { password: keys } });
      t.equal(changed.status, 400, changed.text);
      t.strictSame(changed.body['details'], problem);
      t.ok(await app.login(kept.email), 'the password is as it was');
      t.equal((await app.post(path, { name: 'Ann', email, password: '🔑'.repeat(18) })).status, 201);
    });
  }

  t.test('the field has bounds of characters', async (t) => {
    const short = await app.post('/field', { name: 'Ann', email: 'short@example.com', password: 'seven77' });
    t.match(short.body, { details: [{ path: '/password' }] });
    t.throws(() => passwordField({ minLength: 0 }), { message: /"minLength" must be a whole number above 0/ });
    t.throws(() => passwordField({ maxLength: 5 }), { message: /"maxLength" must be a whole number of at least 6/ });
    t.throws(() => passwordField({ maxLength: 1025 }), { message: /at least 6 and at most 1024, got 1025/ });
    t.throws(() => passwordField({ length: 5 } as never), { message: /unknown option "length"/ });
  });
});
