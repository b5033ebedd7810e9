/** Values in JSON are fields of JSON Logic and of orders, with the same results on every database. */
import { defineEntity, p } from '@mikro-orm/core';
import t from 'tap';
import { Type } from 'typebox';
import { CursorPagination, inJson, ModelViewSet, readShape, Router } from '../../src/index.ts';
import type { FilterFields } from '../../src/view/setup/model-viewset-options.ts';
import { forEachDatabase } from '../support/databases.ts';
import { errorAtStart, testApp } from '../support/library.ts';

const SpecSchema = defineEntity({
  name: 'LampSpec',
  embeddable: true,
  properties: { level: p.integer().nullable(), madeOn: p.date().nullable() },
});
const LampSchema = defineEntity({
  name: 'Lamp',
  properties: {
    id: p.integer().primary(),
    data: p.json<unknown>().nullable(),
    spec: () => p.embedded(SpecSchema).object().nullable(),
  },
});
class Lamp extends LampSchema.class {}
LampSchema.setClass(Lamp);

const Data = Type.Object({
  color: Type.Optional(Type.Enum(['red', 'blue'])),
  size: Type.Optional(Type.Object({ width: Type.Number() })),
  'a.b': Type.Optional(Type.String()),
  secret: Type.Optional(Type.String()),
});
const Shown = Type.Object({ color: Type.Optional(Type.String()), size: Type.Optional(Type.Unknown()) });
const filterFields = {
  color: inJson('data', ['color'], Data),
  min_width: [inJson('data', ['size', 'width'], Data), 'gte'],
  secret: inJson('data', ['secret'], Data),
  level: inJson('spec', ['level']),
} as const satisfies FilterFields<Lamp>;

class ListedViewSet extends ModelViewSet(Lamp, {
  read: readShape(Lamp, ['id']),
  jsonLogicFields: [
    'id',
    inJson('data', ['color'], Data),
    inJson('data', ['size', 'width'], Data),
    inJson('data', ['a.b'], Data),
    inJson('spec', ['level']),
    inJson('spec', ['madeOn']),
  ],
  orderingFields: {
    id: 'id',
    width: inJson('data', ['size', 'width'], Data),
    text: inJson('data', ['a.b'], Data),
    level: inJson('spec', ['level']),
  },
}) {}
class UnlistedViewSet extends ModelViewSet(Lamp, { read: readShape(Lamp, ['id', 'data', 'spec']), filterFields }) {}
class PartViewSet extends ModelViewSet(Lamp, { read: readShape(Lamp, ['id'], { data: Shown }), filterFields }) {}
class HiddenViewSet extends ModelViewSet(Lamp, { read: readShape(Lamp, ['id']), filterFields }) {}
class CursorViewSet extends ModelViewSet(Lamp, {
  read: readShape(Lamp, ['id']),
  orderingFields: { width: inJson('data', ['size', 'width'], Data), text: inJson('data', ['a.b'], Data) },
  pagination: CursorPagination,
  pageSize: 2,
}) {}

forEachDatabase(t, { entities: [Lamp, SpecSchema] }, async (t, orm) => {
  const router = new Router()
    .register('listed', ListedViewSet)
    .register('unlisted', UnlistedViewSet)
    .register('part', PartViewSet)
    .register('hidden', HiddenViewSet)
    .register('cursor', CursorViewSet);
  const app = await testApp(t, orm, [router], { options: { secret: 'a secret of thirty-two bytes ...' } });
  const documents = [
    { color: 'red', size: { width: 10 }, 'a.b': 'Z' },
    { color: 'blue', size: { width: 9.5 }, 'a.b': 'a' },
    { color: 'green', size: { width: '9' }, 'a.b': 'é' },
    { size: null },
    null,
    [{ color: 'red' }],
  ];
  const em = orm.em.fork();
  for (const [index, data] of documents.entries()) {
    const spec = index === 0 ? { level: 3, madeOn: '2026-01-02' } : null;
    em.create(Lamp, { id: index + 1, data, spec });
  }
  await em.flush();
  const ids = async (url: string): Promise<number[] | string> => {
    const response = await app.inject(url);
    if (response.statusCode !== 200) return `${response.statusCode} ${response.body}`;
    return response.json<{ results: { id: number }[] }>().results.map(({ id }) => id);
  };
  const find = (path: string, rule: unknown) => ids(`/${path}?filter=${encodeURIComponent(JSON.stringify(rule))}`);

  t.test('JSON Logic compares them', async (t) => {
    const color = { var: 'data.color' };
    t.same(await find('listed', { '==': [color, 'red'] }), [1]);
    t.same(await find('listed', { in: [color, ['red', 'blue']] }), [1, 2]);
    t.same(await find('listed', { '!=': [color, 'red'] }), [2, 3, 4, 5, 6]);
    t.same(await find('listed', { '==': [color, null] }), [4, 5, 6]);
    t.same(await find('listed', { '<': [9, { var: 'data.size.width' }, 10] }), [2]);
    t.same(await find('listed', { '!': [{ '>': [{ var: 'data.size.width' }, 9.5] }] }), [2, 3, 4, 5, 6]);
    t.same(await find('listed', { in: ['é', { var: 'data.a.b' }] }), [3]);
    t.same(await find('listed', { and: [{ '>': [{ var: 'spec.level' }, 2] }, { '>': [{ var: 'id' }, 0] }] }), [1]);
    t.same(await find('listed', { '==': [{ var: 'spec.madeOn' }, '2026-01-02'] }), [1]);
    t.match(await find('listed', { '==': [color, 'green'] }), /^400 .*must be one of/);
    t.match(await find('listed', { '==': [{ var: 'data.colour' }, 'red'] }), /^400 .*did you mean \\"data.color\\"/);
  });

  t.test('without jsonLogicFields, those that filterFields names and every read shape shows', async (t) => {
    const allowed = async (path: string) => {
      const names = ['data.color', 'data.size.width', 'data.secret', 'spec.level'];
      const found = await Promise.all(names.map((name) => find(path, { '!=': [{ var: name }, null] })));
      return names.filter((_, index) => Array.isArray(found[index]));
    };
    t.same(await allowed('unlisted'), ['data.color', 'data.size.width', 'data.secret', 'spec.level']);
    t.same(await allowed('part'), ['data.color', 'data.size.width']);
    t.same(await allowed('hidden'), []);
  });

  t.test('a list is ordered by them, NULL last', async (t) => {
    t.same(await ids('/listed?sort=width,id'), [2, 1, 3, 4, 5, 6]);
    t.same(await ids('/listed?sort=-width,-id'), [6, 5, 4, 3, 1, 2]);
    t.same(await ids('/listed?sort=text,id'), [1, 2, 3, 4, 5, 6]);
    t.same(await ids('/listed?sort=-level,id'), [2, 3, 4, 5, 6, 1]);
  });

  t.test('cursors continue an order by them', async (t) => {
    for (const [sort, expected] of Object.entries({
      width: [2, 1, 3, 4, 5, 6],
      '-width': [3, 4, 5, 6, 1, 2],
      text: [1, 2, 3, 4, 5, 6],
      '-text,width': [4, 5, 6, 3, 2, 1],
    })) {
      const found: number[] = [];
      for (let cursor = ''; found.length < 20;) {
        const page = (await app.inject(`/cursor?sort=${sort}${cursor}`)).json();
        found.push(...page.results.map(({ id }: { id: number }) => id));
        if (!page.next) break;
        cursor = `&cursor=${encodeURIComponent(page.next_cursor)}`;
      }
      t.same(found, expected, sort);
    }
  });

  t.test('two fields of one name fail at start', async (t) => {
    class TwiceViewSet extends ModelViewSet(Lamp, {
      read: readShape(Lamp, ['id']),
      jsonLogicFields: [inJson('data', ['a', 'b'], Type.String()), inJson('data', ['a.b'], Type.String())],
    }) {}
    t.match(await errorAtStart(t, orm, TwiceViewSet), /jsonLogicFields has two fields with the name "data.a.b"/);
  });
});
