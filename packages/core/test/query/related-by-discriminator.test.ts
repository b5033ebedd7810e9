/** Entities in one table with those that extend them, at the end of a relation. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { many, ModelViewSet, nested, readShape, Router, writeShape } from '../../src/index.ts';
import { forEachDatabase } from '../support/databases.ts';
import { testApp } from '../support/library.ts';

const Person = defineEntity({
  name: 'Person',
  properties: {
    id: p.integer().primary(),
    name: p.string().length(10),
    papers: () => p.oneToMany(Paper).mappedBy('owner'),
    memos: () => p.oneToMany(Memo).mappedBy('owner'),
  },
});
const Paper = defineEntity({
  name: 'Paper',
  discriminatorColumn: 'kind',
  discriminatorValue: 'paper',
  properties: {
    id: p.integer().primary(),
    kind: p.string().length(10),
    title: p.string().length(10),
    owner: () => p.manyToOne(Person).nullable(),
    lines: () => p.oneToMany(Line).mappedBy('paper'),
  },
});
const Memo = defineEntity({ name: 'Memo', extends: Paper, discriminatorValue: 'memo', properties: {} });
const Brief = defineEntity({ name: 'Brief', extends: Memo, discriminatorValue: 'brief', properties: {} });
const Line = defineEntity({
  name: 'Line',
  properties: { id: p.integer().primary(), text: p.string().length(10), paper: () => p.manyToOne(Paper) },
});

class PersonViewSet extends ModelViewSet(Person, {
  read: readShape(Person, ['id', 'name'], { papers: many('papers.title'), memos: many('memos.title') }),
  write: writeShape(Person, ['name'], { papers: nested(writeShape(Paper, ['title'])) }),
  filterFields: { paper: 'papers__title', memo: 'memos__title' },
}) {}
const write = writeShape(Line, ['text']);
class MemoViewSet extends ModelViewSet(Memo, { read: readShape(Memo, ['id', 'title']) }) {}
class LineViewSet extends ModelViewSet(Line, { read: readShape(Line, ['id', 'text']), write }) {}

forEachDatabase(t, { entities: [Person, Paper, Memo, Brief, Line] }, async (t, orm) => {
  const em = orm.em.fork();
  const owner = em.create(Person, { id: 11, name: 'ann' });
  const paper = em.create(Paper, { id: 11, title: 'paper', owner } as never);
  const memo = em.create(Memo, { id: 12, title: 'memo', owner } as never);
  em.create(Brief, { id: 13, title: 'brief', owner } as never);
  em.create(Line, { id: 11, text: 'of paper', paper });
  em.create(Line, { id: 12, text: 'of memo', paper: memo as never });
  await em.flush();
  const router = new Router()
    .register('people', PersonViewSet)
    .register('memos', MemoViewSet)
    .register('memos/:paper/lines', LineViewSet);
  const app = await testApp(t, orm, [router]);

  t.test('a relation to many contains records of its entity and of those that extend it', async (t) => {
    const ann = await app.inject('/people/11');
    t.same(ann.json(), { id: 11, name: 'ann', papers: ['paper', 'memo', 'brief'], memos: ['memo', 'brief'] }, ann.body);
    const countOf = async (query: string) => (await app.inject(`/people?${query}`)).json().count as number;
    t.equal(await countOf('paper=brief'), 1);
    t.equal(await countOf('memo=brief'), 1);
    t.equal(await countOf('memo=paper'), 0);
    const made = await app.inject({
      method: 'POST',
      url: '/people',
      payload: { name: 'bob', papers: [{ title: 'new' }] },
    });
    t.match(made.json(), { name: 'bob', papers: ['new'], memos: [] }, made.body);
  });

  t.test('paths below a record of another entity, which its view does not show, return 404', async (t) => {
    const statusOf = async (url: string) => (await app.inject(url)).statusCode;
    t.equal(await statusOf('/memos/12/lines'), 200);
    t.equal(await statusOf('/memos/12/lines/12'), 200);
    t.equal(await statusOf('/memos/11'), 404);
    t.equal(await statusOf('/memos/11/lines'), 404);
    t.equal(await statusOf('/memos/11/lines/11'), 404);
    for (const method of ['PATCH', 'DELETE'] as const) {
      const answer = await app.inject({
        method,
        url: '/memos/11/lines/11',
        ...(method === 'PATCH' && { payload: {} }),
      });
      t.equal(answer.statusCode, 404, answer.body);
    }
  });
});
