/** Views that choose shapes by role: a tool knows only the fields of the caller's shape. */
import { ModelViewSet, readShape, Router, writeShape } from '@viewset/core';
import type { FastifyRequest } from 'fastify';
import t from 'tap';
import { forEachDatabase } from '../../core/test/support/databases.ts';
import { Book, connect, ENTITIES, fillLibrary, startLibrary } from './support/app.ts';

const shapes = {
  read: readShape(Book, ['id', 'title', 'pages']),
  write: { default: writeShape(Book, ['title']), staff: writeShape(Book, ['title', 'pages']) },
};
class RoleViewSet extends ModelViewSet(Book, { ...shapes, bulk: 10 }) {
  override writeShapeFor({ user }: FastifyRequest) {
    return user?.role?.name === 'staff' ? ('staff' as const) : undefined;
  }
}
class ReadRoleViewSet extends ModelViewSet(Book, {
  read: { default: readShape(Book, ['id', 'title']), staff: readShape(Book, ['id', 'title', 'notes']) },
  write: writeShape(Book, ['title']),
  fields: true,
}) {
  override readShapeFor({ user }: FastifyRequest) {
    return user?.role?.name === 'staff' ? ('staff' as const) : undefined;
  }
}
/** The shape depends on the record, which no tool knows beforehand. */
class RecordViewSet extends ModelViewSet(Book, shapes) {
  override writeShapeFor({ params }: FastifyRequest) {
    return (params as { pk?: string }).pk === '1' ? ('staff' as const) : undefined;
  }
}

forEachDatabase(t, { entities: ENTITIES }, async (t, orm) => {
  await fillLibrary(orm);
  const start = async (user: string) => {
    const router = new Router({ prefix: 'own' })
      .register('volumes', RoleViewSet)
      .register('records', RecordViewSet)
      .register('papers', ReadRoleViewSet);
    const { url } = await startLibrary(t, orm, {
      mcp: { resources: ['volumes', 'records', 'papers'] },
      routers: [router],
    });
    return connect(t, url, user);
  };
  const fieldsOf = (described: unknown, operation: string) =>
    Object.keys((described as Record<string, { values: { properties: object } }>)[operation]!.values.properties);

  t.test('a field that the role may not write is unknown, and never dropped', async (t) => {
    const { call } = await start('7 reader');
    const { value } = await call('describe', { resource: 'volumes' });
    t.strictSame(fieldsOf(value, 'create'), ['title']);
    t.strictSame(fieldsOf(value, 'update'), ['title']);
    const unknown = { isError: true, value: { error: 'values has no "pages"', known_names: ['title'] } };
    t.match(await call('create', { resource: 'volumes', values: { title: 'Fir', pages: 5 } }), unknown);
    t.match(await call('update', { resource: 'volumes', id: 1, values: { pages: 5 } }), unknown);
    t.match(await call('update', { resource: 'volumes', id: 1, values: { title: 'Ash' } }), { isError: false });
  });

  t.test('the role that may write it does', async (t) => {
    const { call } = await start('8 staff');
    const { value } = await call('describe', { resource: 'volumes', operation: 'create' });
    t.strictSame(fieldsOf(value, 'create'), ['title', 'pages']);
    t.match(await call('create', { resource: 'volumes', values: { title: 'Fir', pages: 5 } }), {
      isError: false,
      value: { record: { pages: 5 } },
    });
    t.match(await call('create', { resource: 'volumes', values: { title: 'Fir', notes: 'x' } }), {
      isError: true,
      value: { error: 'values has no "notes"', known_names: ['title', 'pages'] },
    });
  });

  t.test('the descriptions name no field that only another role reads', async (t) => {
    const reader = await start('7 reader');
    const staff = await start('8 staff');
    for (const operation of [undefined, 'search', 'get', 'create', 'update']) {
      const question = { resource: 'papers', ...(operation === undefined ? {} : { operation }) };
      t.notMatch(JSON.stringify(await reader.call('describe', question)), /notes/);
      t.match(JSON.stringify(await staff.call('describe', question)), /notes/);
    }
    const wrong = { resource: 'papers', query: { fields: 'nots' } };
    t.notMatch(JSON.stringify(await reader.call('search', wrong)), /notes/);
    t.match(JSON.stringify(await staff.call('search', wrong)), /notes/);
  });

  t.test('a choice by the record leaves the fields of all shapes known', async (t) => {
    const { call } = await start('7 reader');
    t.match(await call('update', { resource: 'records', id: 1, values: { pages: 6 } }), {
      isError: false,
      value: { record: { pages: 6 } },
    });
    t.match(await call('update', { resource: 'records', id: 2, values: { pages: 6 } }), {
      isError: false,
      value: { record: { pages: 200 } },
    });
  });
});
