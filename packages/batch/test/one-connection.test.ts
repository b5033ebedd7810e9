/** A batch holds one connection, however many operations it has and whoever logs in; it ends with its request. */
import { defineEntity, type MikroORM, p } from '@mikro-orm/core';
import fastify from 'fastify';
import t, { type Test } from 'tap';
import { auth } from '@viewset/auth';
import {
  action,
  IsAuthenticated,
  ModelViewSet,
  readShape,
  Router,
  serverOptions,
  viewset,
  writeShape,
} from '@viewset/core';
import { createPostgreSqlDatabase, skipPostgreSql } from '../../core/test/support/databases.ts';
import { BatchViewSet } from '../src/index.ts';

const Role = defineEntity({
  name: 'Role',
  properties: { id: p.integer().primary(), name: p.string().length(50).unique() },
});
const Account = defineEntity({
  name: 'Account',
  properties: {
    id: p.integer().primary(),
    email: p.string().length(254).unique(),
    password: p.string().length(100).lazy(),
    name: p.string().length(100),
    role: () => p.manyToOne(Role).nullable(),
    is_active: p.boolean().default(true),
    last_login: p.datetime().nullable(),
  },
});
const Note = defineEntity({
  name: 'Note',
  properties: { id: p.integer().primary(), text: p.string().length(50) },
});

/** The statements so far. */
let queries: string[] = [];

class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text']),
  write: writeShape(Note, ['text']),
  permissionClasses: [IsAuthenticated],
}) {
  wait = action({ methods: ['post'], batchable: true }, () => new Promise<never>(() => {}));
}

async function serve(t: Test, orm: MikroORM, handlerTimeoutMs = 30_000) {
  const app = fastify(serverOptions());
  t.teardown(() => app.close());
  await app.register(viewset, { orm, handlerTimeoutMs });
  await app.register(auth, {
    account: Account,
    secret: 'x'.repeat(40),
    urlPrefix: '/auth',
    routes: ['login'],
    bcryptRounds: 4,
  });
  class Batch extends BatchViewSet() {}
  await app.register(new Router({ prefix: 'api' }).register('notes', NoteViewSet).register('batch', Batch).plugin);
  await app.ready();
  const em = orm.em.fork();
  const account = em.create(Account, {
    email: 'ann@example.com',
    name: 'Ann',
    password: 'p',
    role: null,
    last_login: null,
  });
  await em.flush();
  const token = app.auth.issueToken({ id: account.id, is_active: true, role: null } as never);
  return { app, authorization: `Bearer ${token}` };
}

const note = (text: string) => ({ method: 'POST', path: '/notes', body: { text } });

async function open(t: Test, url?: string): Promise<MikroORM> {
  const entities = [Role, Account, Note];
  const { MikroORM: ORM } = await (url === undefined ? import('@mikro-orm/sqlite') : import('@mikro-orm/postgresql'));
  const orm = await ORM.init({
    ...(url === undefined ? { dbName: ':memory:' } : { clientUrl: url }),
    entities,
    debug: ['query'],
    logger: (line: string) => queries.push(line),
    pool: { max: 1 },
  } as object);
  t.teardown(() => orm.close(true));
  await orm.schema.create();
  return orm;
}

function testOn(name: string, skip: string | false, makeDatabase: (t: Test) => Promise<string | undefined>): void {
  t.test(`on ${name}, with one connection`, { skip }, async (t) => {
    await t.test('many batches of an account that is logged in', async (t) => {
      const orm = await open(t, await makeDatabase(t));
      const { app, authorization } = await serve(t, orm);
      const send = (headers: object) =>
        app.inject({
          method: 'POST',
          url: '/api/batch',
          headers: { ...headers },
          payload: { operations: [note('1'), note('2'), { method: 'GET', path: '/notes' }, note('3')] },
        });
      const answers = await Promise.all(Array.from({ length: 10 }, () => send({ authorization })));
      t.strictSame(new Set(answers.map(({ statusCode }) => statusCode)), new Set([200]), answers[0]!.body);
      t.equal(await orm.em.fork().count(Note), 30);
      queries = [];
      t.equal((await send({ authorization })).statusCode, 200);
      t.equal(
        queries.filter((line) => /from "?account"?/.test(line)).length,
        2,
        'one for the batch, one for all operations',
      );
      t.equal((await send({})).statusCode, 401);
      const wrong = await send({ authorization: `${authorization}x` });
      t.equal(wrong.statusCode, 401);
      t.match(wrong.headers['www-authenticate'], /invalid_token/);
    });

    await t.test('a batch that takes too long is rolled back, and gives its connection back', async (t) => {
      const orm = await open(t, await makeDatabase(t));
      const { app, authorization } = await serve(t, orm, 200);
      const address = await app.listen({ port: 0 });
      const answer = await fetch(`${address}/api/batch`, {
        method: 'POST',
        headers: { authorization, 'content-type': 'application/json' },
        body: JSON.stringify({ operations: [note('1'), { method: 'POST', path: '/notes/wait', body: {} }, note('2')] }),
      });
      t.equal(answer.status, 503);
      t.equal(await orm.em.fork().count(Note), 0);
    });
  });
}

testOn('SQLite', false, async () => undefined);
testOn('PostgreSQL', skipPostgreSql(), createPostgreSqlDatabase);
