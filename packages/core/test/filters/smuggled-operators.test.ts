/** Operators of MongoDB in keys and JSON columns: values on every database alike. See also those of the shop. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { CursorPagination, many, ModelViewSet, nested, readShape, refs, Router, writeShape } from '../../src/index.ts';
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

  t.test('a JSON column stores its value unchanged', async (t) => {
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

const Label = defineEntity({ name: 'Label', properties: { id: p.integer().primary(), name: p.string().length(50) } });
const Page = defineEntity({
  name: 'Page',
  properties: {
    id: p.integer().primary(),
    title: p.string().length(100),
    lines: () => p.oneToMany(Line).mappedBy('page'),
    labels: () => p.manyToMany(Label),
  },
});
const Line = defineEntity({
  name: 'Line',
  properties: {
    id: p.integer().primary(),
    text: p.string().length(100),
    data: p.json<object>().nullable(),
    page: () => p.manyToOne(Page),
  },
});

class Pages extends ModelViewSet(Page, {
  read: readShape(Page, ['id', 'title'], { lines: many(readShape(Line, ['id', 'text', 'data'])) }),
  write: writeShape(Page, ['title'], {
    labels: refs('labels'),
    lines: nested(writeShape(Line, ['text', 'data']), { update: true }),
  }),
  searchFields: ['title'],
  filterFields: { title: 'title', starts: 'title__istartswith', line: 'lines__text', label: 'labels' },
  jsonLogicFields: ['title', 'lines.text'],
  pagination: CursorPagination,
  queryMethod: true,
}) {}

/** What would be an operator, a path or a value of the driver's own. */
const SMUGGLED: readonly object[] = [
  { $gt: '' },
  { $ne: null },
  { $in: [1, 'a'] },
  { $not: { $regex: '.' } },
  { $where: 'true' },
  { $expr: { $eq: [1, 1] } },
  { 'title.$gt': '' },
  { _bsontype: 'Code', code: 'true' },
  [{ $gt: '' }],
];

forEachDatabase(t, { entities: [Label, Page, Line] }, async (t, orm) => {
  const app = await testApp(t, orm, [new Router().register('pages', Pages)], {
    options: { secret: 'a secret that is thirty-two bytes' },
  });
  const send = (method: 'GET' | 'POST' | 'PATCH' | 'QUERY', url: string, payload?: object) =>
    app.inject({ method: method as 'GET', url, ...(payload === undefined ? {} : { payload }) });
  const first = (await send('POST', '/pages', { title: 'a', lines: [{ text: 'b' }] })).json();
  const [{ id }] = first.lines;

  for (const value of SMUGGLED) {
    const text = JSON.stringify(value);
    const asText = encodeURIComponent(text);
    t.test(`${text} in children and references`, async (t) => {
      const created = await send('POST', '/pages', { title: text, lines: [{ text, data: value }] });
      t.equal(created.statusCode, 201, created.body);
      t.match(created.json(), { title: text, lines: [{ text, data: value }] });
      const { id: made } = created.json();
      t.strictSame((await send('GET', `/pages/${made}`)).json(), created.json());
      for (const body of [
        { title: value },
        { lines: value },
        { lines: [{ text: value }] },
        { lines: [{ id: value, text: 'x' }] },
        { lines: [{ id, text: 'x', page: value }, value] },
        { labels: value },
        { labels: [value] },
      ]) {
        const refused = await send('PATCH', `/pages/${first.id}`, body);
        t.equal(refused.statusCode, 400, `${JSON.stringify(body)}: ${refused.body}`);
      }
      t.strictSame((await send('GET', `/pages/${first.id}`)).json(), first);
      await orm.em.fork().nativeDelete(Line, { page: made });
      await orm.em.fork().nativeDelete(Page, { id: made });
    });

    t.test(`${text} in filters, searches and rules`, async (t) => {
      for (const name of ['title', 'starts', 'line', 'search']) {
        const found = await send('GET', `/pages?${name}=${asText}`);
        t.strictSame([found.statusCode, found.json().results], [200, []], `${name}: ${found.body}`);
        t.equal((await send('QUERY', '/pages', { [name]: value })).statusCode, 400, `QUERY ${name}`);
      }
      const rules = [
        value,
        { '==': [{ var: 'title' }, value] },
        { '==': [{ var: 'lines.text' }, value] },
        { in: [{ var: 'title' }, [value]] },
        { '==': [{ var: value }, 'a'] },
        { '!': value },
      ];
      for (const rule of rules) {
        const asked = JSON.stringify(rule);
        t.equal((await send('GET', `/pages?filter=${encodeURIComponent(asked)}`)).statusCode, 400, asked);
        t.equal((await send('QUERY', '/pages', { filter: rule })).statusCode, 400, `QUERY ${asked}`);
      }
      for (const url of [`cursor=${asText}`, `label=${asText}`, 'title[$gt]=', 'title.$gt=1', `${asText}=1`]) {
        t.equal((await send('GET', `/pages?${url}`)).statusCode, 400, url);
      }
      t.equal((await send('GET', `/pages/${asText}`)).statusCode, 404);
    });
  }
});
