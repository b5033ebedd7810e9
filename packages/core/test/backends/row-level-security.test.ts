/** Policies of PostgreSQL decide what each user reads, also after the handler has returned. */
import { defineEntity, p } from '@mikro-orm/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { many, ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Note = defineEntity({
  name: 'PolicyNote',
  properties: {
    id: p.integer().primary(),
    text: p.string(),
    owner: p.integer(),
    lines: () => p.oneToMany(Line).mappedBy('note'),
  },
});
const Line = defineEntity({
  name: 'PolicyLine',
  properties: { id: p.integer().primary(), text: p.string(), note: () => p.manyToOne(Note) },
});
class NoteViewSet extends ModelViewSet(Note, {
  read: readShape(Note, ['id', 'text', 'owner'], { lines: many('lines.text') }),
  write: writeShape(Note, ['text', 'owner']),
  exports: ['csv', 'ndjson'],
  summary: { group: ['owner'] },
  maxPageSize: 100,
}) {}

const COUNT = 1500;
const userOf = ({ headers }: FastifyRequest): string => String(headers['x-user'] ?? '');

forEachDatabase(t, { entities: [Note, Line], only: ['postgresql'] }, async (t, orm) => {
  const role = `viewset_policy_${process.pid}`;
  await orm.em.getConnection().execute(`
    create role ${role};
    grant select, insert, update, delete on policy_note, policy_line to ${role};
    grant usage on all sequences in schema public to ${role};
    alter table policy_note enable row level security;
    create policy own on policy_note using (owner = nullif(current_setting('app.user', true), '')::int);
    insert into policy_note (text, owner) select 'note ' || n, n % 2 + 1 from generate_series(1, ${COUNT}) n;
    insert into policy_line (text, note_id) select 'line', id from policy_note;
  `);
  const start = (before: (request: FastifyRequest) => Promise<void>) =>
    testApp(t, orm, [new Router().register('notes', NoteViewSet)], {
      before: (app) => {
        app.addHook('preHandler', before);
        app.addHook('onSend', async ({ em }) => {
          if (em.isInTransaction()) await em.commit();
        });
      },
    });

  await t.test('a session of the entity manager holds for everything that a request reads', async (t) => {
    const app = await start(async (request) => {
      request.em.setSessionContext({ role, variables: { 'app.user': userOf(request) } });
    });
    const read = async (user: string, url: string) => {
      const { statusCode, body } = await app.inject({ url, headers: { 'x-user': user } });
      t.equal(statusCode, 200, url);
      return body;
    };
    for (let turn = 0; turn < 4; turn++) {
      const [ofOne, ofTwo] = await Promise.all([read('1', '/notes.csv'), read('2', '/notes.ndjson')]);
      const rows = ofOne.trim().split('\r\n').slice(1);
      t.equal(rows.length, COUNT / 2);
      t.ok(rows.every((row) => row.split(',')[2] === '1'));
      const lines = ofTwo
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line) as { owner: number; lines: string[] });
      t.equal(lines.length, COUNT / 2);
      t.ok(lines.every(({ owner, lines: texts }) => owner === 2 && texts.length === 1));
    }
    t.match(JSON.parse(await read('1', '/notes?page_size=100&page=8')), { count: COUNT / 2 });
    t.strictSame(JSON.parse(await read('2', '/notes/summary?group=owner')), {
      results: [{ group: { owner: 2 }, count: COUNT / 2 }],
    });
    t.match(JSON.parse(await read('', '/notes')), { count: 0 }, 'without a user, no row is visible');
    const post = (user: string, owner: number) =>
      app.inject({ method: 'POST', url: '/notes', payload: { text: 'new', owner }, headers: { 'x-user': user } });
    t.equal((await post('1', 1)).statusCode, 201);
    t.equal((await post('1', 2)).statusCode, 403, 'a write that a policy rejects');
    await orm.em.getConnection().execute(`delete from policy_note where text = 'new'`);
  });

  await t.test('an export in the transaction of a hook is refused, because it would outlast it', async (t) => {
    const app = await start(async (request) => {
      await request.em.begin();
      await request.em.getConnection().execute(`set local role ${role}`, [], 'run', request.em.getTransactionContext());
    });
    for (const url of ['/notes.csv', '/notes.ndjson']) {
      const { statusCode, body } = await app.inject({ url, headers: { 'x-user': '1' } });
      t.equal(statusCode, 500, body.slice(0, 200));
      t.notMatch(body, /note 1/);
    }
    t.equal((await app.inject({ url: '/notes', headers: { 'x-user': '1' } })).statusCode, 200, 'a page is not');
  });
  await orm.em.getConnection().execute(`drop owned by ${role}; drop role ${role}`);
});
