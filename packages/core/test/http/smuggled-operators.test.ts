/** Operators of MongoDB in keys and JSON columns: values on every database alike. See also those of the shop. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { ModelViewSet, readShape, Router, writeShape } from '../../src/index.ts';
import { EVERY_DATABASE, forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Note = defineEntity({
  name: 'Note',
  properties: {
    id: p.integer().primary(),
    slug: p.string().length(100).unique(),
    data: p.json<object | string>().nullable(),
  },
});
const read = readShape(Note, ['id', 'slug', 'data']);
const write = writeShape(Note, ['slug', 'data']);
class NoteViewSet extends ModelViewSet(Note, { read, write, bulk: 10 }) {}
class BySlug extends ModelViewSet(Note, { read, write, bulk: 10, lookupField: 'slug' }) {}

forEachDatabase(t, { entities: [Note], only: EVERY_DATABASE }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('notes', NoteViewSet).register('by-slug', BySlug)]);
  const send = (method: 'GET' | 'POST' | 'PATCH' | 'DELETE', url: string, payload?: object) =>
    app.inject({ method, url, ...(payload === undefined ? {} : { payload }) });
  t.equal((await send('POST', '/notes', [{ slug: 'a' }, { slug: 'b' }])).statusCode, 201);
  const before = (await send('GET', '/notes')).json();
  const unchanged = async (name: string): Promise<unknown> =>
    t.same((await send('GET', '/notes')).json(), before, name);

  t.test('keys of a bulk request', async (t) => {
    for (const pk of ['{"$gt":0}', '{"$ne":null}', '$where', '__proto__', '[object Object]']) {
      for (const url of ['/notes', '/by-slug']) {
        const answer = await send('DELETE', `${url}?pk=${encodeURIComponent(pk)}`);
        t.ok([400, 404].includes(answer.statusCode), `DELETE ${url} ${pk}: ${answer.statusCode}`);
      }
    }
    t.equal((await send('DELETE', '/notes?pk[$gt]=0')).statusCode, 400);
    for (const key of [{ $gt: 0 }, [1], { $in: [1, 2] }, '1', null]) {
      t.equal((await send('PATCH', '/notes', [{ id: key, slug: 'x' }])).statusCode, 400, JSON.stringify(key));
    }
    for (const key of [{ $gt: '' }, ['a'], { $regex: '.' }]) {
      t.equal((await send('PATCH', '/by-slug', [{ slug: key, data: {} }])).statusCode, 400, JSON.stringify(key));
    }
    await unchanged('nothing was written');
  });

  t.test('a text as the key of a path', async (t) => {
    for (const key of ['{"$gt":""}', '$slug', '$$ROOT', '__proto__', 'constructor']) {
      for (const method of ['GET', 'PATCH', 'DELETE'] as const) {
        const answer = await send(method, `/by-slug/${encodeURIComponent(key)}`, method === 'PATCH' ? {} : undefined);
        t.equal(answer.statusCode, 404, `${method} ${key}`);
      }
    }
    await unchanged('nothing was written');
  });

  t.test('a JSON column keeps what it is given', async (t) => {
    for (const data of [
      { $gt: '' },
      { $inc: 1 },
      { $set: { slug: 'x' } },
      { 'a.b': { $where: 'true' } },
      { _bsontype: 'ObjectId', id: 'x' },
      { $ref: 'note', $id: 1 },
      [{ $unset: '' }],
    ]) {
      const url = `/notes/${before.results[0].id}`;
      for (const written of [{ data }, { data: { inner: data } }, { data: [data] }]) {
        t.strictSame((await send('PATCH', url, written)).json().data, written.data, JSON.stringify(written));
        t.strictSame((await send('GET', url)).json().data, written.data);
      }
    }
    t.equal((await send('PATCH', `/notes/${before.results[0].id}`, { data: null })).statusCode, 200);
    await unchanged('and nothing else was written');
  });
});
