/** The routes of authentication answer in the format of the application's errors. */
import { serverOptions, viewset } from '@viewset/core';
import fastify from 'fastify';
import t from 'tap';
import { Type } from 'typebox';
import { openSqlite } from '../../../core/test/support/databases.ts';
import { auth } from '../../src/index.ts';
import { MailBox, SECRET } from '../support/app.ts';
import { Account, Role } from '../support/entities.ts';

t.test('a login that is refused, and the document of it', async (t) => {
  const orm = await openSqlite(t, { entities: [Account, Role] });
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  const errorSchema = Type.Object({ message: Type.String() });
  await app.register(viewset, {
    orm,
    errorSchema,
    formatError: ({ message, statusCode }) => ({ status: statusCode === 401 ? 403 : statusCode, body: { message } }),
  });
  const answers = new Map<string, object>();
  app.addHook('onRoute', ({ url, schema }) => void answers.set(url, schema?.response ?? {}));
  await app.register(auth, {
    account: Account,
    secret: SECRET,
    bcryptRounds: 4,
    mailer: new MailBox(),
    urlPrefix: '/auth',
  });
  const payload = { email: 'ann@example.com', password: 'wrong' };
  const { statusCode, body } = await app.inject({ method: 'POST', url: '/auth/login', payload });
  t.equal(statusCode, 403);
  t.strictSame(Object.keys(JSON.parse(body) as object), ['message']);
  t.match(answers.get('/auth/login'), { 403: { title: 'Error', properties: { message: {} } } });
});
